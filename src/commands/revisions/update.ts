import { UsageError } from '../../base/errors.ts';
import { bodyFlags, bodyFromFlags, readText } from '../../cli/input/body.ts';
import { changedConfig, checkRuntime, explainProcedure } from '../../cli/input/procedure.ts';
import { length } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { text } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentFlag, findRevision, revisionArgument, revisionId } from '../../cli/names/revision.ts';
import { revisionRecord } from '../../cli/records/revision.ts';
import type { Body, Build } from '../../interface/types.ts';

export default defineCommand({
  summary: 'Change the procedure, name, or description of a revision',
  description:
    'If the revision is live, new runs use the change immediately; unfinished runs are not affected. While a builder run is active, the procedure cannot be changed.',
  arguments: { revision: revisionArgument },
  options: {
    agent: agentFlag,
    procedure: text('FILE|-', 'New procedure', { complete: 'files' }),
    runtime: text('NAME', 'Runtime that executes the procedure (default: unchanged)'),
    name: text('NAME', 'New name, at most 80 characters', { check: length(1, 80) }),
    description: text('TEXT', 'New description, at most 500 characters', { check: length(0, 500) }),
    ...bodyFlags,
  },
  operations: ['listAgents', 'listAgentRevisions', 'getRevision', 'updateRevision'],
  mutates: true,
  examples: [
    { command: 'aops revisions update invoice-check@latest --procedure procedure.yaml', text: 'Change the procedure of the newest draft' },
    { command: "aops revisions update invoice-check@2 --name 'Before the audit'", text: 'Name an older revision' },
  ],
  result: returns('updateRevision.build'),
  output: recordOutput<Build>(revisionRecord),
  async run(context, input) {
    const client = await context.client();
    const { procedure, runtime, name, description } = input;
    const fields = ((await bodyFromFlags(context, input)) ?? {}) as Body<'updateRevision'>;
    checkRuntime(input);
    const config =
      procedure === undefined
        ? undefined
        : changedConfig((await findRevision(context, input.revision, input.agent)).config, await readText(context, procedure), runtime);
    const body = {
      ...fields,
      ...(config === undefined ? {} : { config }),
      ...(name === undefined ? {} : { revision_name: name }),
      ...(description === undefined ? {} : { revision_description: description }),
    };
    if (Object.keys(body).length === 0)
      throw new UsageError(
        'There is nothing to change.',
        'Pass --procedure, --name, or --description; see `aops revisions update --help`.',
      );
    const build_id = await revisionId(context, input.revision, input.agent);
    const call = client.call('updateRevision', { params: { build_id }, body });
    return (await explainProcedure(procedure === '-' ? 'standard input' : (procedure ?? '--input'), call)).build;
  },
});
