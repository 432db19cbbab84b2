/** When pending cases wait for a person: every agent of their queue has reached its limit, and all of its cases wait for input. */
import { expect, it } from 'vitest';
import type { CaseCounts } from '../../src/cli/records/case-counts.ts';
import type { Client } from '../../src/client/client.ts';
import { findBlockingRuns } from '../../src/commands/cases/held-up.ts';

interface Consumer {
  at_concurrency_limit: boolean;
  concurrency_limit: number | null;
  case_trigger_enabled?: boolean;
}
const full = (concurrency_limit: number | null): Consumer => ({ at_concurrency_limit: true, concurrency_limit });
const free: Consumer = { at_concurrency_limit: false, concurrency_limit: 1 };

/** What blocks a queue with these agents, if this many of its cases are in progress, all of which wait for input. */
function blockingRuns(consumers: readonly Consumer[], count: number, status = 'needs_input'): Promise<string | undefined> {
  const cases = Array.from({ length: count }, (_, index) => {
    return { id: `c${index}`, claimed_by_run_id: `r${index}`, updated_at: 't', display_status: index === 0 ? status : 'needs_input' };
  });
  const answers: Record<string, unknown> = {
    searchCases: { cases, total: count },
    listQueueAgents: { consumers: consumers.map((consumer) => ({ case_trigger_enabled: true, is_handover_target: false, ...consumer })) },
  };
  const client = { call: async (operation: string) => answers[operation] } as unknown as Client;
  const counts = { pending: 1, claimed: 0, postponed: 0 } as CaseCounts;
  return findBlockingRuns(client, { parts: [{ queueId: 'q' }] } as never, counts);
}

it.each([
  ['the only agent has reached its limit', [full(2)], 2],
  ['an agent without a limit of its own works on its only case', [full(null)], 1],
  ['all agents have reached their limits', [full(2), full(1)], 3],
  ['the other agent is not enabled', [full(1), { ...free, case_trigger_enabled: false }], 1],
])('pending cases are held up if %s', async (_, consumers, count) => {
  expect(await blockingRuns(consumers, count)).toBe(Array.from({ length: count }, (_, index) => `c${index}:r${index}:t`).join(' '));
});

it.each([
  ['another agent can take a case', [full(1), free], 1, 'needs_input'],
  ['an agent works on cases of another queue, too', [full(2), full(1)], 2, 'needs_input'],
  ['one of the runs is working', [full(2)], 2, 'in_progress'],
  ['there are no agents', [], 1, 'needs_input'],
])('pending cases are not held up if %s', async (_, consumers, count, status) => {
  expect(await blockingRuns(consumers, count, status)).toBeUndefined();
});
