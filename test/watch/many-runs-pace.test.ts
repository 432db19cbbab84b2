/** How many requests watching many runs makes in any minute, without streams of their events. */
import { describe, expect, it } from 'vitest';
import { RunsWatch } from '../../src/watch/many/watch-runs.ts';
import { FakeTeam } from './fake-team.ts';
import { maxPerMinute, SharedTime } from './shared-time.ts';

interface Watching {
  runs: number;
  status?: string;
  /** Whether each run sends messages all the time. */
  isBusy?: boolean;
  /** Messages of each run before it is watched. */
  messages?: number;
  /** Milliseconds between the changes that the stream of the team reports. */
  changeInterval?: number;
  selection?: 'named' | 'filter';
  /** Whether messages are wanted. */
  readsMessages?: boolean;
  minutes?: number;
}

/** Watches a simulated team, and returns when requests were made and how many messages were reported. */
async function watch({
  runs,
  status = 'running',
  isBusy = false,
  messages = 1,
  changeInterval,
  selection = 'filter',
  readsMessages = true,
  minutes = 4,
}: Watching): Promise<{ requests: number[]; reported: Map<string, number> }> {
  const clock = new SharedTime();
  const startTime = clock.now();
  const team = new FakeTeam(clock, runs, status, messages);
  if (changeInterval !== undefined) team.changeInterval = changeInterval;
  if (isBusy) team.messageInterval = 500;
  const stop = new AbortController();
  const reported = new Map<string, number>();
  const runsWatch = new RunsWatch(
    team.client,
    selection === 'named' ? { kind: 'named', runs: team.ids.map((id) => ({ id })) } : { kind: 'filter', filter: {}, addsNew: true },
    { clock, signal: stop.signal, teamId: 't1', messages: readsMessages },
  );
  const end = (async () => {
    for await (const { run, body } of runsWatch.updates())
      if (run !== undefined && body.type === 'message') reported.set(run.id, (reported.get(run.id) ?? 0) + 1);
  })().catch((error: unknown) => {
    if (error !== stop.signal.reason) throw error;
  });
  await clock.goTo(startTime + minutes * 60_000);
  stop.abort(new Error('The test is over.'));
  await end;
  return { requests: team.requests, reported };
}

const bound = (runs: number): number => Math.min(300, 60 * runs);

describe.each(['named', 'filter'] as const)('watching %s runs by polling', (selection) => {
  it.each([
    { runs: 1, reportedRuns: 1 },
    { runs: 10, reportedRuns: 10 },
    { runs: 100, reportedRuns: 100 },
    // Half of the requests are for the list, and some for the many messages of busy runs.
    { runs: 1_000, reportedRuns: 150 },
  ])('makes at most min(300, 60 x runs) requests in any minute for $runs runs, quiet or busy', async ({ runs, reportedRuns }) => {
    for (const watching of [{ status: 'waiting' }, {}, { isBusy: true }]) {
      const { requests, reported } = await watch({ runs, selection, ...watching });
      expect([watching, maxPerMinute(requests)]).toEqual([watching, expect.toSatisfy((count) => count <= bound(runs))]);
      expect([watching, reported.size]).toEqual([watching, expect.toSatisfy((count) => count >= reportedRuns)]);
    }
  });
});

it('makes at most 300 requests in any minute while it reads existing messages', async () => {
  for (const runs of [2, 100]) {
    const { requests, reported } = await watch({ runs, messages: 20_000 / runs, selection: 'named' });
    expect([runs, maxPerMinute(requests)]).toEqual([runs, expect.toSatisfy((count) => count <= 300)]);
    expect([...reported.values()].reduce((sum, count) => sum + count, 0)).toBe(20_000);
  }
});

it.each([true, false])(
  'makes at most 300 requests in any minute while the team changes all the time (messages: %s)',
  async (readsMessages) => {
    const { requests } = await watch({ runs: 1_000, status: 'waiting', changeInterval: 200, readsMessages });
    expect(maxPerMinute(requests)).toBeLessThanOrEqual(300);
    // Polls do not stop for a large part of a minute.
    const gaps = requests.slice(1).map((time, index) => time - (requests[index] as number));
    expect(Math.max(...gaps)).toBeLessThan(12_000);
  },
);
