/** How many requests watching many runs makes in any minute, without streams of their events. */
import { describe, expect, it } from 'vitest';
import { RunsWatch } from '../../src/watch/many/watch-runs.ts';
import { FakeTeam } from './fake-team.ts';
import { maxPerMinute, SharedTime } from './shared-time.ts';

interface Watching {
  runs: number;
  /** The status of each run, or of all of them. */
  statuses?: string | string[];
  /** Whether runs send messages all the time, and how many of them do. */
  isBusy?: boolean;
  talkers?: number;
  showsMessages?: boolean;
  /** Messages of each run before it is watched. */
  messages?: number;
  /** Milliseconds between the changes that the stream of the team reports. */
  changeInterval?: number;
  selection?: 'named' | 'filter';
  /** Whether messages are wanted. */
  readsMessages?: boolean;
  minutes?: number;
  /** The remaining part of the rate limit after these requests. */
  remaining?: (requests: readonly number[]) => number;
}

interface Watched {
  /** When requests were made, in milliseconds since the start. */
  requests: number[];
  /** The number of reported messages of each run. */
  reported: Map<string, number>;
  /** Milliseconds from each new message until it was reported, in ascending order, without those of the first half minute. */
  delays: number[];
}

/** Watches a simulated team. */
async function watch({
  runs,
  statuses = 'running',
  isBusy = false,
  talkers = Number.POSITIVE_INFINITY,
  showsMessages = false,
  messages = 1,
  changeInterval,
  selection = 'filter',
  readsMessages = true,
  minutes = 4,
  remaining,
}: Watching): Promise<Watched> {
  const clock = new SharedTime();
  const startTime = clock.now();
  const team = new FakeTeam(clock, runs, statuses, messages);
  Object.assign(team, { talkers, showsMessages });
  if (changeInterval !== undefined) team.changeInterval = changeInterval;
  // Not in step with the seconds.
  if (isBusy) team.messageInterval = 507;
  if (remaining !== undefined) team.remaining = () => remaining(team.requests);
  const stop = new AbortController();
  const [reported, delays] = [new Map<string, number>(), [] as number[]];
  const runsWatch = new RunsWatch(
    team.client,
    selection === 'named' ? { kind: 'named', runs: team.ids.map((id) => ({ id })) } : { kind: 'filter', filter: {}, addsNew: true },
    { clock, signal: stop.signal, teamId: 't1', messages: readsMessages },
  );
  const end = (async () => {
    for await (const { run, body } of runsWatch.updates()) {
      if (run === undefined || body.type !== 'message') continue;
      reported.set(run.id, (reported.get(run.id) ?? 0) + 1);
      const sentAt = Date.parse(body.data.message.timestamp);
      if (sentAt > startTime + 30_000) delays.push(clock.now() - sentAt);
    }
  })().catch((error: unknown) => {
    if (error !== stop.signal.reason) throw error;
  });
  await clock.goTo(startTime + minutes * 60_000);
  stop.abort(new Error('The test is over.'));
  await end;
  return { requests: team.requests.map((time) => time - startTime), reported, delays: delays.sort((a, b) => a - b) };
}

describe.each(['named', 'filter'] as const)('watching %s runs by polling', (selection) => {
  it.each([
    { runs: 1, reportedRuns: 1 },
    { runs: 10, reportedRuns: 10 },
    { runs: 100, reportedRuns: 100 },
    // Half of the requests are for runs that have not been read yet, or not for a while.
    { runs: 1_000, reportedRuns: 150 },
  ])('makes at most 300 requests in any minute for $runs runs, quiet or busy', async ({ runs, reportedRuns }) => {
    for (const watching of [{ statuses: 'waiting' }, {}, { isBusy: true }, { isBusy: true, showsMessages: true }]) {
      const { requests, reported } = await watch({ runs, selection, minutes: runs < 100 ? 4 : 2, ...watching });
      expect([watching, maxPerMinute(requests)]).toEqual([watching, expect.toSatisfy((count) => count <= Math.min(300, 100 + 60 * runs))]);
      expect([watching, reported.size]).toEqual([watching, expect.toSatisfy((count) => count >= reportedRuns)]);
    }
  });

  it.each([
    { runs: 1, talkers: 1, median: 600, last: 1_500 },
    { runs: 2, talkers: 2, median: 600, last: 2_000 },
    { runs: 5, talkers: 5, median: 800, last: 4_000 },
    { runs: 10, talkers: 1, median: 600, last: 2_000 },
    // As often as 300 requests in a minute allow: each run is read every 2.4 seconds.
    { runs: 10, talkers: 10, median: 1_300, last: 5_000 },
    { runs: 100, talkers: 1, median: 600, last: 2_000 },
    { runs: 100, talkers: 5, median: 800, last: 4_000 },
    { runs: 1_000, talkers: 1, median: 800, last: 4_000 },
  ])(
    'reports half of the messages of $talkers of $runs runs within $median ms while the others wait',
    async ({ runs, talkers, ...most }) => {
      const statuses = Array.from({ length: runs }, (_, index) => (index < talkers ? 'running' : 'waiting'));
      const { requests, delays, reported } = await watch({ runs, statuses, talkers, isBusy: true, selection, minutes: 2 });
      expect(maxPerMinute(requests)).toBeLessThanOrEqual(300);
      expect(delays[Math.floor(delays.length / 2)]).toBeLessThanOrEqual(most.median);
      expect(delays.at(-1)).toBeLessThanOrEqual(most.last);
      // Nothing is repeated, and at most what was sent in the last seconds is missing.
      for (let run = 0; run < talkers; run += 1) {
        expect(reported.get(`r${run}`)).toBeLessThanOrEqual(1 + Math.floor(120_000 / 507));
        expect(reported.get(`r${run}`)).toBeGreaterThan((120_000 - most.last) / 507);
      }
    },
  );

  it.each([
    { showsMessages: true, median: 1_200 },
    { showsMessages: false, median: 1_500 },
  ])('reports half of the messages of 5 of 100 runs in progress within $median ms', async ({ showsMessages, median }) => {
    const { delays } = await watch({ runs: 100, talkers: 5, isBusy: true, showsMessages, selection, minutes: 2 });
    expect(delays[Math.floor(delays.length / 2)]).toBeLessThanOrEqual(median);
  });
});

it('makes few requests while all runs wait', async () => {
  const { requests } = await watch({ runs: 50, statuses: 'waiting', minutes: 5 });
  expect(maxPerMinute(requests.filter((time) => time > 120_000))).toBeLessThanOrEqual(50);
});

it.each(['named', 'filter'] as const)('reads the list of many %s runs less often than that of few, while all wait', async (selection) => {
  const { requests } = await watch({ runs: 1_000, statuses: 'waiting', selection, minutes: 8 });
  // At first, it reads the messages of all runs.
  expect(maxPerMinute(requests.filter((time) => time > 360_000))).toBeLessThanOrEqual(150);
});

it('reads the messages of a run in progress only now and then if the list shows when there are any', async () => {
  const perMinute = async (showsMessages: boolean): Promise<number> => {
    const { requests } = await watch({ runs: 20, talkers: 1, isBusy: true, showsMessages });
    return maxPerMinute(requests.filter((time) => time > 120_000));
  };
  expect(await perMinute(false)).toBeGreaterThan(270);
  expect(await perMinute(true)).toBeLessThan(270);
});

describe('as the rate limit is used up by others', () => {
  it.each([
    { remaining: 1_400, most: 150 },
    { remaining: 700, most: 80 },
  ])('requests become rarer: with $remaining of 3,000, at most $most a minute', async ({ remaining, most }) => {
    const { requests, reported } = await watch({ runs: 20, isBusy: true, remaining: () => remaining, minutes: 3 });
    expect(maxPerMinute(requests.filter((time) => time > 60_000))).toBeLessThanOrEqual(most);
    expect(reported.size).toBe(20);
  });

  it('requests stop until the window ends, with a tenth remaining', async () => {
    // The window ends with each minute.
    const { requests } = await watch({ runs: 20, isBusy: true, remaining: (times) => (times.length < 100 ? 3_000 : 299), minutes: 3 });
    const times = requests.slice(110);
    expect(times.length).toBeGreaterThan(0);
    for (const time of times) expect(time % 60_000).toBeLessThan(20_000);
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
    const { requests } = await watch({ runs: 1_000, statuses: 'waiting', changeInterval: 200, readsMessages });
    expect(maxPerMinute(requests)).toBeLessThanOrEqual(300);
    // Polls do not stop for a large part of a minute.
    const gaps = requests.slice(1).map((time, index) => time - (requests[index] as number));
    expect(Math.max(...gaps)).toBeLessThan(12_000);
  },
);
