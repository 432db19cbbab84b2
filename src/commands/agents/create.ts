import { UsageError } from '../../base/errors.ts';
import { omitUndefined } from '../../base/omit-undefined.ts';
import { shellWord } from '../../base/shell.ts';
import { agentDefinition, agentOptions, runtimeFor } from '../../cli/input/agent-definition.ts';
import { bodyFlags, bodyFromFlags, readText } from '../../cli/input/body.ts';
import { checkRuntime, explainProcedure, revisionConfig } from '../../cli/input/procedure.ts';
import { type NamedSecret, readAgentSecrets } from '../../cli/input/secret.ts';
import { storeSecrets } from '../../cli/input/store-secrets.ts';
import { length, uuid } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { optionalArgument, text } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { copiedRevision, revisionId } from '../../cli/names/revision.ts';
import type { Agent, Body } from '../../interface/types.ts';
import { agentRecord } from './record.ts';

export default defineCommand({
  summary: 'Create an agent from a procedure or from a program',
  description:
    'The procedure becomes the first revision, which is live immediately. --acp and --acp-command run an agent of the Agent Client Protocol instead of a procedure, such as Claude Code; the agent asks you before it acts. Its program must be installed on the machine of the service. An agent without a procedure cannot run; add one later with `aops agents update`. Names are unique in a team.',
  arguments: { name: optionalArgument('The name of the agent; can also be set in --input', { check: length(1) }) },
  options: {
    procedure: text('FILE|-', 'Procedure of the agent, or definition of a program', { complete: 'files' }),
    runtime: text('NAME', 'Runtime that executes the procedure (default: script, or acp for the definition of a program)', {
      check: length(1),
    }),
    ...agentOptions,
    from: copiedRevision('Copy this revision: its ID, AGENT@live, AGENT@latest, or AGENT@NUMBER'),
    automation: text('ID', 'Automation that the agent belongs to', { check: uuid }),
    thread: text('ID', 'Thread that the agent belongs to', { check: uuid }),
    ...bodyFlags,
  },
  operations: ['listAgents', 'listAgentRevisions', 'createAgent', 'setAgentSecret'],
  mutates: true,
  examples: [
    { command: 'aops agents create invoice-check --procedure procedure.yaml', text: 'Create an agent from a procedure' },
    {
      command: 'aops agents create fixer --acp claude --secret ANTHROPIC_API_KEY=@key.txt',
      text: 'Create an agent that runs Claude Code',
    },
    {
      command: "aops agents create helper --acp-command 'node agent.js --acp' --instructions AGENTS.md",
      text: 'Run any agent that speaks the Agent Client Protocol',
    },
    {
      command: 'aops agents create fixer --procedure agent.yaml --instructions AGENTS.md --secret ANTHROPIC_API_KEY=@key.txt',
      text: 'Run the program that a file defines',
    },
    { command: 'aops agents create invoice-check-2 --from invoice-check@live', text: 'Create an agent as a copy of another' },
  ],
  result: returns('createAgent.agent'),
  output: recordOutput<Agent>(agentRecord),
  async run(context, input) {
    const client = await context.client();
    const { name, procedure, runtime, from: sourceName } = input;
    const isAgent = input.acp !== undefined || input.acpCommand !== undefined;
    if (isAgent && (procedure ?? sourceName) !== undefined)
      throw new UsageError(`${input.acp === undefined ? '--acp-command' : '--acp'} cannot be combined with --procedure or --from.`);
    if (sourceName !== undefined && procedure !== undefined) throw new UsageError('--from and --procedure cannot be combined.');
    checkRuntime(input);
    const fields = ((await bodyFromFlags(context, input)) ?? {}) as Partial<Body<'createAgent'>>;
    const secrets = await readAgentSecrets(context, input.secret, '--secret ');
    const text = procedure === undefined ? undefined : await readText(context, procedure);
    const textRuntime = runtime ?? (text === undefined ? undefined : await runtimeFor(text));
    const names = secrets.map((secret) => secret.name);
    const definition = await agentDefinition(context, input, names, textRuntime === 'acp' ? text : undefined);
    const newProcedure = definition ?? text;
    const build =
      newProcedure === undefined ? fields.build : { name: 'Revision 1', config: revisionConfig(newProcedure, textRuntime ?? 'acp') };
    const source = sourceName === undefined ? undefined : await revisionId(context, sourceName);
    const body = {
      ...fields,
      name: name ?? fields.name,
      ...omitUndefined({ build, source_build_id: source, automation_id: input.automation, thread_id: input.thread }),
    };
    if (!body.name) throw new UsageError('The agent needs a name.', 'Use `aops agents create NAME`.');
    const call = client.call('createAgent', { params: { teamId: context.teamId() }, body: body as Body<'createAgent'> });
    const procedureName = procedure === '-' ? 'standard input' : (procedure ?? (isAgent ? 'definition' : '--input'));
    const result = await explainProcedure(procedureName, call);
    await storeSecretsOf(context, result.agent, secrets);
    // The interface allows an agent without a procedure. Unless the service provides one, the agent cannot run until it has one.
    if (body.build === undefined && body.source_build_id === undefined && !result.build)
      context.terminal.advise(
        `The agent cannot run yet, because it has no procedure. Add one with: aops agents update ${shellWord(result.agent.name)} --procedure FILE`,
      );
    return result.agent;
  },
});

/** Stores the secrets of a new agent. A failure says that the agent exists. */
async function storeSecretsOf(context: Context, { id, name }: Agent, secrets: readonly NamedSecret[]): Promise<void> {
  try {
    await storeSecrets(context, id, secrets);
  } catch (error) {
    const words = secrets.map((secret) => `${secret.name}=@FILE`).join(' ');
    const remedy = context.terminal.suggested(`Store them with: aops agents secrets set ${shellWord(name)} ${words}`);
    context.terminal.warn(`The agent was created, but not all of its secrets were stored. ${remedy}`);
    throw error;
  }
}
