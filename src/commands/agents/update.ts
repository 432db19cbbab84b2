import { UsageError } from '../../base/errors.ts';
import { bodyFlags, bodyFromFlags, readText } from '../../cli/input/body.ts';
import { changedConfig, checkRuntime, explainProcedure } from '../../cli/input/procedure.ts';
import { length, uuid } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { argument, text, toggle } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentId } from '../../cli/names/resolve.ts';
import { liveRevision } from '../../cli/names/revision.ts';
import type { Agent, Body, Build } from '../../interface/types.ts';
import { agentRecord } from './record.ts';

export default defineCommand({
  summary: 'Change the name, settings or procedure of an agent',
  description:
    'A new procedure becomes a new live revision; its other settings are copied from the previous live revision. Unfinished runs keep their revision.',
  arguments: { agent: argument('The agent, by ID or name', { complete: 'agents' }) },
  options: {
    name: text('NAME', 'New name', { check: length(1) }),
    procedure: text('FILE|-', 'New procedure', { complete: 'files' }),
    runtime: text('NAME', 'Runtime that executes the procedure (default: unchanged)', { check: length(1) }),
    memory: toggle('Allow the agent to store memory files'),
    slack: toggle('Make the agent available in Slack'),
    teams: toggle('Make the agent available in Microsoft Teams'),
    pinned: toggle('Pin the agent for yourself'),
    thread: text('ID', 'Thread that the agent belongs to', { check: uuid }),
    ...bodyFlags,
  },
  operations: ['listAgents', 'getAgent', 'listAgentRevisions', 'createRevision', 'updateAgent', 'promoteRevision'],
  mutates: true,
  examples: [
    { command: 'aops agents update invoice-check --procedure procedure.yaml', text: 'Use a new procedure for new runs' },
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
    if (Object.keys(body).length === 0 && input.procedure === undefined)
      throw new UsageError(
        'There is nothing to change.',
        'Pass --name, --procedure, --memory or another flag; see `aops agents update --help`.',
      );
    const id = await agentId(context, input.agent);
    const params = { agent_id: id };
    const draft = input.procedure === undefined ? undefined : await newRevision(context, id, input.procedure, input.runtime);
    // If the settings are rejected, such as a name that is taken, the new revision is not live yet.
    // The agent is read before the promotion: if reading failed afterwards, a successful change would be reported as failed.
    const { agent } = await (Object.keys(body).length > 0
      ? client.call('updateAgent', { params, body })
      : client.call('getAgent', { params }));
    if (draft !== undefined) await client.call('promoteRevision', { params: { build_id: draft.id } });
    return agent;
  },
});

async function newRevision(context: Context, id: string, file: string, runtime: string | undefined): Promise<Build> {
  const client = await context.client();
  const procedure = await readText(context, file);
  const config = changedConfig((await liveRevision(context, id))?.config, procedure, runtime);
  const name = file === '-' ? 'standard input' : file;
  const created = client.call('createRevision', { params: { agent_id: id }, body: { name: `From ${name}`, config } });
  return (await explainProcedure(name, created)).build;
}
