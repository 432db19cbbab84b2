/** The case that starts the run of a test, in a queue of its own. */
import type { Clock } from '../../../base/clock.ts';
import type { TestCase } from './schema.ts';
import type { TestTeam } from './temporary-service.ts';

const defaultQueue = 'Cases';
const pollMilliseconds = 50;

/** Creates the queue, the case, and the trigger of the agent. Resolves when a run has taken the case. @throws the signal's reason */
export async function makeCase(
  { id: teamId, client }: TestTeam,
  agent: string,
  { queue: name = defaultQueue, title, data, labels = {}, priority }: TestCase,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<{ id: string; run: string }> {
  const { queue } = await client.call('createQueue', { params: { teamId }, body: { name } }, { signal });
  const draft = {
    title,
    ...(data === undefined ? {} : { data: typeof data === 'string' ? data : JSON.stringify(data) }),
    labels: Object.entries(labels).flatMap(([key, values]) => [values].flat().map((value) => (key === '' ? { value } : { key, value }))),
    ...(priority === undefined ? {} : { priority: priority as 'none' | 'medium' | 'high' }),
  };
  const { added_cases: added } = await client.call('createCases', { params: { queue_id: queue.id }, body: { case: draft } }, { signal });
  const { id } = added[0] as (typeof added)[number];
  const trigger = { case_queue_id: queue.id, enabled: true };
  await client.call('createAgentCaseTrigger', { params: { agent_id: agent }, body: trigger }, { signal });
  for (;;) {
    const { runs } = await client.call('listCaseRuns', { params: { case_id: id } }, { signal });
    const [run] = runs;
    if (run !== undefined) return { id, run: run.id };
    await clock.sleep(pollMilliseconds, signal);
  }
}
