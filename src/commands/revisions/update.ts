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
  summary: 'Change the procedure or the name of a revision',
  description:
    'New runs follow a live revision as it is now; runs that are going on keep what they were started with. While a builder run is active on it, the procedure cannot be changed.',
  arguments: { revision: revisionArgument },
  options: {
    agent: agentFlag,
    procedure: text('FILE|-', 'The procedure it runs', { complete: 'files' }),
    runtime: text('NAME', 'What executes the procedure (default: as it is)'),
    name: text('NAME', 'Its name, 80 characters at most', { check: length(1, 80) }),
    description: text('TEXT', 'What it is, 500 characters at most', { check: length(0, 500) }),
    ...bodyFlags,
  },
  operations: ['listAgents', 'listAgentRevisions', 'getRevision', 'updateRevision'],
  mutates: true,
  examples: [
    { command: 'aops revisions update invoice-check@latest --procedure procedure.yaml', text: 'Another procedure for the newest draft' },
    { command: "aops revisions update invoice-check@2 --name 'Before the audit'", text: 'Name an older one' },
  ],
  result: returns('updateRevision.build'),
  output: recordOutput<Build>(revisionRecord),
  async run(context, input) {
    const client = await context.client();
    const { procedure, runtime, name, description } = input;
    const given = ((await bodyFromFlags(context, input)) ?? {}) as Body<'updateRevision'>;
    checkRuntime(input);
    const config =
      procedure === undefined
        ? undefined
        : changedConfig((await findRevision(context, input.revision, input.agent)).config, await readText(context, procedure), runtime);
    const body = {
      ...given,
      ...(config === undefined ? {} : { config }),
      ...(name === undefined ? {} : { revision_name: name }),
      ...(description === undefined ? {} : { revision_description: description }),
    };
    if (Object.keys(body).length === 0)
      throw new UsageError(
        'There is nothing to change.',
        'Say what: --procedure, --name, --description. See `aops revisions update --help`.',
      );
    const build_id = await revisionId(context, input.revision, input.agent);
    const changed = client.call('updateRevision', { params: { build_id }, body });
    return (await explainProcedure(procedure === '-' ? 'standard input' : (procedure ?? '--input'), changed)).build;
  },
});
