import { pluralize } from '../../base/pluralize.ts';
import { wordList } from '../../base/word-list.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { confirm } from '../../cli/kit/confirm.ts';
import type { Context } from '../../cli/kit/context.ts';
import { argument } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { ifOffered } from '../../cli/kit/secondary-requests.ts';
import { agentId } from '../../cli/names/resolve.ts';

export default defineCommand({
  summary: 'Delete an agent and interrupt its runs',
  description: 'The confirmation lists what ends with the agent: its unfinished runs, schedules, and case triggers.',
  arguments: { agent: argument('The agent, by ID or name', { complete: 'agents' }) },
  operations: ['listAgents', 'getAgent', 'listRuns', 'listAgentSchedules', 'listAgentCaseTriggers', 'deleteAgent'],
  mutates: true,
  destructive: true,
  examples: [{ command: 'aops agents delete invoice-check --yes', text: 'Delete an agent without confirmation' }],
  result: returns('deleteAgent', { id: 'uuid', name: 'string' }),
  output: textOutput<{ id: string; name: string; success: boolean }>(({ name }) => `Deleted ${name}.`),
  async run(context, input) {
    const client = await context.client();
    const id = await agentId(context, input.agent);
    const { agent } = await client.call('getAgent', { params: { agent_id: id } });
    // With --yes, the question is not displayed.
    const losses = context.flags.yes ? '' : await lossesOf(context, id);
    await confirm(context, `Delete the agent "${agent.name}"?${losses}`);
    return { id, name: agent.name, ...(await client.call('deleteAgent', { params: { agent_id: id } })) };
  },
});

/** Runs that have not ended. */
const unfinishedStatuses = ['pending', 'starting', 'running', 'waiting'] as const;

/** What ends with the agent, as far as the service reports it; empty if nothing does. */
async function lossesOf(context: Context, agent_id: string): Promise<string> {
  const client = await context.client();
  const count = async (status: (typeof unfinishedStatuses)[number]): Promise<number> => {
    const query = { agent_id, status, count_only: 'true' as const };
    return (await ifOffered(client.call('listRuns', { params: { teamId: context.teamId() }, query })))?.total ?? 0;
  };
  const params = { agent_id };
  const [schedules, triggers, ...runs] = await Promise.all([
    ifOffered(client.call('listAgentSchedules', { params })),
    ifOffered(client.call('listAgentCaseTriggers', { params })),
    ...unfinishedStatuses.map(count),
  ]);
  const runCount = runs.reduce((sum, count) => sum + count, 0);
  const losses = [
    ...(runCount > 0 ? [pluralize(runCount, 'run')] : []),
    ...(schedules?.schedules.length ? [pluralize(schedules.schedules.length, 'schedule')] : []),
    ...(triggers?.case_triggers ?? []).map(({ case_queue_name: queue }) => `the case trigger on the queue "${queue}"`),
  ];
  return losses.length === 0 ? '' : ` This ends ${wordList(losses, 'and')}.`;
}
