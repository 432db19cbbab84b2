import { UsageError } from '../../base/errors.ts';
import { type AgentInput, agentOptions, definitionFlags } from '../../cli/input/agent-definition.ts';
import { bodyFlags, bodyFromFlags, readText } from '../../cli/input/body.ts';
import { changedLiveDefinition } from '../../cli/input/live-definition.ts';
import { changedConfig, checkRuntime, explainProcedure } from '../../cli/input/procedure.ts';
import { readAgentSecrets } from '../../cli/input/secret.ts';
import { storeSecrets } from '../../cli/input/store-secrets.ts';
import { length, uuid } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { argument, text, toggle } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentId } from '../../cli/names/resolve.ts';
import { liveRevision } from '../../cli/names/revision.ts';
import { procedureOf } from '../../cli/records/revision.ts';
import type { Agent, Body, Build, RevisionConfig } from '../../interface/types.ts';
import { agentRecord } from './record.ts';

export default defineCommand({
  summary: 'Change the name, settings, procedure, or program of an agent',
  description:
    'A new procedure becomes a new live revision; its other settings are copied from the previous live revision. Of an agent that is a program, the options from --acp to --mode replace only the parts that they name: --env, --secret, --allow-host, and --allow-path add to what the agent has. Unfinished runs keep their revision.',
  arguments: { agent: argument('The agent, by ID or name', { complete: 'agents' }) },
  options: {
    name: text('NAME', 'New name', { check: length(1) }),
    procedure: text('FILE|-', 'New procedure', { complete: 'files' }),
    runtime: text('NAME', 'Runtime that executes the procedure (default: unchanged)', { check: length(1) }),
    ...agentOptions,
    memory: toggle('Allow the agent to store memory files'),
    slack: toggle('Make the agent available in Slack'),
    teams: toggle('Make the agent available in Microsoft Teams'),
    pinned: toggle('Pin the agent for yourself'),
    thread: text('ID', 'Thread that the agent belongs to', { check: uuid }),
    ...bodyFlags,
  },
  operations: ['listAgents', 'getAgent', 'listAgentRevisions', 'createRevision', 'updateAgent', 'setAgentSecret', 'promoteRevision'],
  mutates: true,
  examples: [
    { command: 'aops agents update invoice-check --procedure procedure.yaml', text: 'Use a new procedure for new runs' },
    {
      command: 'aops agents update fixer --secret ANTHROPIC_API_KEY=@key.txt --allow-host registry.npmjs.org',
      text: 'Store a secret of a program, and let it reach another host',
    },
    { command: 'aops agents update fixer --instructions AGENTS.md', text: 'Give a program new instructions' },
    { command: 'aops agents update invoice-check --name invoices', text: 'Rename an agent' },
  ],
  result: returns('updateAgent.agent'),
  output: recordOutput<Agent>(agentRecord),
  async run(context, input) {
    checkRuntime(input);
    const client = await context.client();
    const settings = Object.fromEntries(
      Object.entries({
        name: input.name,
        agentic_memory_enabled: input.memory,
        slack_enabled: input.slack,
        microsoft_teams_enabled: input.teams,
        pinned: input.pinned,
        thread_id: input.thread,
      }).filter(([, value]) => value !== undefined),
    );
    const body = { ...((await bodyFromFlags(context, input)) as Body<'updateAgent'> | undefined), ...settings };
    const flags = definitionFlags(input);
    if (input.procedure !== undefined && flags.length > 0)
      throw new UsageError(`${flags.join(' and ')} cannot be combined with --procedure.`, 'Put them into the definition in the file.');
    if (Object.keys(body).length === 0 && input.procedure === undefined && flags.length === 0)
      throw new UsageError(
        'There is nothing to change.',
        'Pass --name, --procedure, --memory, or another flag; see `aops agents update --help`.',
      );
    const id = await agentId(context, input.agent);
    const params = { agent_id: id };
    const revision =
      input.procedure === undefined
        ? await revisionWithOptions(context, { id, name: input.agent }, input)
        : await revisionWithProcedure(context, id, input.procedure, input.runtime);
    const secrets = await readAgentSecrets(context, input.secret, '--secret ');
    const draft = revision && (await createRevision(context, id, revision));
    // If the settings are rejected, such as a name that is taken, the new revision is not live yet.
    // The agent is read before the promotion: if reading failed afterwards, a successful change would be reported as failed.
    const { agent } = await (Object.keys(body).length > 0
      ? client.call('updateAgent', { params, body })
      : client.call('getAgent', { params }));
    await storeSecrets(context, id, secrets);
    if (draft !== undefined) await client.call('promoteRevision', { params: { build_id: draft.id } });
    return agent;
  },
});

interface NewRevision {
  name: string;
  config: RevisionConfig;
  /** Where the procedure comes from, for messages about its errors. */
  source: string;
}

async function revisionWithProcedure(context: Context, id: string, file: string, runtime: string | undefined): Promise<NewRevision> {
  const procedure = await readText(context, file);
  const config = changedConfig((await liveRevision(context, id))?.config, procedure, runtime);
  const source = file === '-' ? 'standard input' : file;
  return { name: `From ${source}`, config, source };
}

/** A revision with the parts that the options replace; undefined if they change nothing. */
async function revisionWithOptions(
  context: Context,
  agent: { id: string; name: string },
  input: AgentInput,
): Promise<NewRevision | undefined> {
  const flags = definitionFlags(input);
  if (flags.length === 0) return undefined;
  const { build, text } = await changedLiveDefinition(context, agent, input);
  if (build !== undefined && text === procedureOf(build.config)) return undefined;
  return { name: `With ${flags.join(', ')}`, config: changedConfig(build?.config, text, 'acp'), source: 'definition' };
}

async function createRevision(context: Context, id: string, { source, ...body }: NewRevision): Promise<Build> {
  const client = await context.client();
  return (await explainProcedure(source, client.call('createRevision', { params: { agent_id: id }, body }))).build;
}
