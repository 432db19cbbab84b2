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
  summary: 'Create an agent, with the procedure it runs',
  description:
    'The procedure becomes the first revision, and it is live at once. An agent without one cannot run; `aops agents update` gives it one later. Names are unique in a team.',
  arguments: { name: optionalArgument('Name of the agent; may also be in --input', { check: length(1) }) },
  options: {
    procedure: text('FILE|-', 'The procedure it runs', { complete: 'files' }),
    runtime: text('NAME', 'What executes the procedure (default script)', { check: length(1) }),
    from: copiedRevision('Begin with a copy of this one: its id, or AGENT@live, AGENT@latest, AGENT@NUMBER'),
    automation: text('ID', 'The automation it belongs to', { check: uuid }),
    thread: text('ID', 'The thread it belongs to', { check: uuid }),
    ...bodyFlags,
  },
  operations: ['listAgents', 'listAgentRevisions', 'createAgent'],
  mutates: true,
  examples: [
    { command: 'aops agents create invoice-check --procedure procedure.yaml', text: 'An agent that follows a script' },
    { command: 'aops agents create invoice-check-2 --from invoice-check@live', text: 'One that begins as another is now' },
  ],
  result: returns('createAgent.agent'),
  output: recordOutput<Agent>(agentRecord),
  async run(context, input) {
    const client = await context.client();
    const { name, procedure, runtime, from } = input;
    if (from !== undefined && procedure !== undefined) throw new UsageError('--from and --procedure exclude each other.');
    checkRuntime(input);
    const fields = ((await bodyFromFlags(context, input)) ?? {}) as Partial<Body<'createAgent'>>;
    const build =
      procedure === undefined
        ? fields.build
        : { name: 'Revision 1', config: revisionConfig(await readText(context, procedure), runtime ?? 'script') };
    const source = from === undefined ? undefined : await revisionId(context, from);
    const body = {
      ...fields,
      name: name ?? fields.name,
      ...omitUndefined({ build, source_build_id: source, automation_id: input.automation, thread_id: input.thread }),
    };
    if (!body.name) throw new UsageError('The agent needs a name.', 'Write `aops agents create NAME`.');
    const call = client.call('createAgent', { params: { teamId: context.teamId() }, body: body as Body<'createAgent'> });
    const created = await explainProcedure(procedure === '-' ? 'standard input' : (procedure ?? '--input'), call);
    // The interface allows it: the procedure may come later. Unless a service begins with one by itself, nothing can run until then.
    if (body.build === undefined && body.source_build_id === undefined && !created.build)
      context.terminal.note(
        `The agent has no procedure yet, so it cannot run. Give it one with: aops agents update ${shellWord(created.agent.name)} --procedure FILE`,
      );
    return created.agent;
  },
});
