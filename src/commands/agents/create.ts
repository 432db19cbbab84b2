import { UsageError } from '../../base/errors.ts';
import { omitUndefined } from '../../base/omit-undefined.ts';
import { shellWord } from '../../base/shell.ts';
import { bodyFlags, bodyFromFlags, readText } from '../../cli/input/body.ts';
import { checkRuntime, explainProcedure, revisionConfig } from '../../cli/input/procedure.ts';
import { length, uuid } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { optionalArgument, text } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { copiedRevision, revisionId } from '../../cli/names/revision.ts';
import type { Agent, Body } from '../../interface/types.ts';
import { agentRecord } from './record.ts';

export default defineCommand({
  summary: 'Create an agent from a procedure',
  description:
    'The procedure becomes the first revision, which is live immediately. An agent without a procedure cannot run; add one later with `aops agents update`. Names are unique in a team.',
  arguments: { name: optionalArgument('The name of the agent; can also be set in --input', { check: length(1) }) },
  options: {
    procedure: text('FILE|-', 'Procedure of the agent', { complete: 'files' }),
    runtime: text('NAME', 'Runtime that executes the procedure (default script)', { check: length(1) }),
    from: copiedRevision('Copy this revision: its ID, AGENT@live, AGENT@latest or AGENT@NUMBER'),
    automation: text('ID', 'Automation that the agent belongs to', { check: uuid }),
    thread: text('ID', 'Thread that the agent belongs to', { check: uuid }),
    ...bodyFlags,
  },
  operations: ['listAgents', 'listAgentRevisions', 'createAgent'],
  mutates: true,
  examples: [
    { command: 'aops agents create invoice-check --procedure procedure.yaml', text: 'Create an agent from a procedure' },
    { command: 'aops agents create invoice-check-2 --from invoice-check@live', text: 'Create an agent as a copy of another' },
  ],
  result: returns('createAgent.agent'),
  output: recordOutput<Agent>(agentRecord),
  async run(context, input) {
    const client = await context.client();
    const { name, procedure, runtime, from: copied } = input;
    if (copied !== undefined && procedure !== undefined) throw new UsageError('--from and --procedure cannot be combined.');
    checkRuntime(input);
    const fields = ((await bodyFromFlags(context, input)) ?? {}) as Partial<Body<'createAgent'>>;
    const build =
      procedure === undefined
        ? fields.build
        : { name: 'Revision 1', config: revisionConfig(await readText(context, procedure), runtime ?? 'script') };
    const source = copied === undefined ? undefined : await revisionId(context, copied);
    const body = {
      ...fields,
      name: name ?? fields.name,
      ...omitUndefined({ build, source_build_id: source, automation_id: input.automation, thread_id: input.thread }),
    };
    if (!body.name) throw new UsageError('The agent needs a name.', 'Use `aops agents create NAME`.');
    const call = client.call('createAgent', { params: { teamId: context.teamId() }, body: body as Body<'createAgent'> });
    const created = await explainProcedure(procedure === '-' ? 'standard input' : (procedure ?? '--input'), call);
    // The interface allows an agent without a procedure. Unless the service provides one, the agent cannot run until it has one.
    if (body.build === undefined && body.source_build_id === undefined && !created.build)
      context.terminal.note(
        `The agent cannot run yet, because it has no procedure. Add one with: aops agents update ${shellWord(created.agent.name)} --procedure FILE`,
      );
    return created.agent;
  },
});
