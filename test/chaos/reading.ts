/** Reads the state of the service at the end through its interface. */
import type { Case, RecordedHumanRequest, RunListItem, RunMessage, Schedule, WebhookDelivery } from '../../src/interface/types.ts';
import type { ChaosClient } from './client.ts';
import type { Setup } from './load.ts';
import type { Observation, ObservedRun, ObservedSchedule } from './observation.ts';
import type { AgentName } from './procedures.ts';

/** The schedules, before they are disabled. */
export async function readSchedules(client: ChaosClient, { agents }: Setup): Promise<ObservedSchedule[]> {
  const { schedules } = await client.read<{ schedules: Schedule[] }>(`/v2/agents/${agents.scheduled}/schedules`);
  return schedules.map(({ id, task, created_at, next_run_at: next }) => ({
    ...{ id, task: task ?? '', createdAt: Date.parse(created_at) },
    nextAt: next ? Date.parse(next) : null,
  }));
}

/** What the service knows about the work. */
export async function readWork(
  client: ChaosClient,
  { team, agents, queue, subscription }: Setup,
): Promise<Pick<Observation, 'runs' | 'cases' | 'remembered' | 'deliveries'>> {
  const base = `/v2/teams/${team}`;
  const names = new Map(Object.entries(agents).map(([name, id]) => [id, name as AgentName]));
  const rows = await client.list<RunListItem>(`${base}/runs`, 'data', 100);
  const runs: ObservedRun[] = [];
  for (const { id, run_number: number, agent_id: agent, source, status, created_at } of rows) {
    const messages = await client.list<RunMessage>(`/v2/runs/${id}/messages`, 'messages', 50);
    const requests = await client.list<RecordedHumanRequest>(`/v2/runs/${id}/human-requests`, 'human_requests', 50);
    runs.push({
      ...{ id, number, status, agent: names.get(agent ?? '') as AgentName, source: source ?? '', createdAt: Date.parse(created_at ?? '') },
      messages: messages.flatMap(({ id: message, role, text_content: text }) =>
        text === undefined ? [] : [{ id: message, isFromAgent: role !== 'user', text: text.trim() }],
      ),
      requests: requests.map(({ id: request, status: state, response }) => ({ id: request, status: state, response: response ?? '' })),
    });
  }
  const cases = await client.list<Case>(`/v2/queues/${queue}/cases`, 'cases', 100);
  const { files } = await client.read<{ files: { path: string }[] }>(`/v2/agents/${agents.asking}/memory/files`);
  const content =
    files.length === 0 ? '' : (await client.read<{ content: string }>(`/v2/agents/${agents.asking}/memory/files/log.txt`)).content;
  const path = `${base}/webhook-deliveries?subscription_id=${subscription}`;
  const deliveries = await client.list<WebhookDelivery>(path, 'deliveries', 100);
  return {
    runs,
    cases: cases.map(({ id, title, display_status }) => ({ id, title, status: display_status })),
    remembered: content.split('\n').filter((line) => line !== ''),
    deliveries: deliveries.map(({ event_id, event, status }) => ({ eventId: event_id, event, status })),
  };
}
