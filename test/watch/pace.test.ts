/** How many requests polling makes, and that many pollers with one credential leave a part of its rate limit for other requests. */
import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/client/client.ts';
import { isNearlyUsedUp, stretchedPause } from '../../src/watch/pace.ts';
import { watchRun } from '../../src/watch/watch-run.ts';
import { FakeRun } from './fake-run.ts';
import { maxPerMinute, SharedTime } from './shared-time.ts';

/** The rate limit of a service, with windows of a minute. */
class Limit {
  usedCount = 0;
  maxUsed = 0;
  refusedCount = 0;
  readonly #clock: SharedTime;
  readonly #limit: number;
  #window = 0;

  constructor(clock: SharedTime, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  take(): void {
    const window = Math.floor(this.#clock.now() / 60_000);
    if (window !== this.#window) this.usedCount = 0;
    this.#window = window;
    this.usedCount += 1;
    this.maxUsed = Math.max(this.maxUsed, this.usedCount);
    if (this.usedCount > this.#limit) this.refusedCount += 1;
  }

  get allowance() {
    return {
      remaining: Math.max(0, this.#limit - this.usedCount),
      limit: this.#limit,
      milliseconds: 60_000 - (this.#clock.now() % 60_000),
    };
  }
}

/** Watches a simulated run and returns when each request was made. */
function startWatching(
  clock: SharedTime,
  limit: Limit,
  change: (run: FakeRun, request: number) => void = () => undefined,
  onMessage: () => void = () => undefined,
) {
  const run = new FakeRun();
  const { client } = run;
  const requests: number[] = [];
  const countingClient = {
    onWaiting: client.onWaiting,
    openEvents: client.openEvents,
    get allowance() {
      return limit.allowance;
    },
    call: (id: never, input: never) => {
      limit.take();
      requests.push(clock.now());
      change(run, requests.length);
      return client.call(id, input);
    },
  } as unknown as Client;
  const stop = new AbortController();
  const all = (async () => {
    for await (const { type } of watchRun(countingClient, 'r1', { clock, signal: stop.signal })) if (type === 'message') onMessage();
  })().catch(() => undefined);
  const end = (): Promise<void> => {
    stop.abort();
    return all;
  };
  return { run, requests, stop: end };
}

describe('polling', () => {
  it('makes at most 60 requests in any minute while a run says something all the time', async () => {
    const clock = new SharedTime();
    let count = 0;
    const { requests, stop } = startWatching(clock, new Limit(clock, 100_000), (run) => run.reported.messages.push(`m${count++}`));
    await clock.goTo(clock.now() + 10 * 60_000);
    await stop();
    expect(maxPerMinute(requests)).toBeLessThanOrEqual(60);
    expect(requests.length).toBeGreaterThan(10 * 30);
  });

  /** Milliseconds from the moment a message exists until it is read, for messages that come every 508 ms. */
  async function delays(messages: number): Promise<number[]> {
    const clock = new SharedTime();
    const startTime = clock.now();
    const measuredDelays: number[] = [];
    const { run, stop } = startWatching(clock, new Limit(clock, 100_000), undefined, () =>
      measuredDelays.push(clock.now() - startTime - measuredDelays.length * 508),
    );
    for (let count = 0; count < messages; count += 1) {
      await clock.goTo(startTime + count * 508);
      run.reported.messages.push(`m${count}`);
    }
    await clock.goTo(startTime + messages * 508 + 20_000);
    await stop();
    expect(measuredDelays).toHaveLength(messages);
    return measuredDelays.sort((a, b) => a - b);
  }

  it('finds half of the messages of a short run within 300 ms and all of them within a second', async () => {
    const measuredDelays = await delays(24);
    expect(measuredDelays[12]).toBeLessThanOrEqual(300);
    expect(measuredDelays.at(-1)).toBeLessThanOrEqual(1_000);
  });

  it('settles to a steady pace when a run never stops sending messages', async () => {
    const measuredDelays = await delays(1_200);
    expect(measuredDelays[600]).toBeLessThanOrEqual(1_300);
    expect(measuredDelays[1_080]).toBeLessThanOrEqual(2_500);
    expect(measuredDelays.at(-1)).toBeLessThanOrEqual(8_000);
  });

  it('makes at most 30 requests in any minute while a run in progress says nothing', async () => {
    const clock = new SharedTime();
    const { requests, stop } = startWatching(clock, new Limit(clock, 100_000));
    const startTime = clock.now();
    await clock.goTo(startTime + 6 * 60_000);
    await stop();
    expect(maxPerMinute(requests.filter((time) => time > startTime + 10_000))).toBeLessThanOrEqual(30);
  });

  it.each(['waiting', 'pending', 'not_started'])('makes at most 30 requests in any minute while a run is %s', async (status) => {
    const clock = new SharedTime();
    const { run, requests, stop } = startWatching(clock, new Limit(clock, 100_000));
    run.reported.status = status;
    await clock.goTo(clock.now() + 5 * 60_000);
    await stop();
    expect(maxPerMinute(requests)).toBeLessThanOrEqual(30);
    expect(requests.length).toBeGreaterThan(5 * 15);
  });

  it.each([50, 100])(
    'of %i runs with one credential never meets its rate limit of 3,000 a minute',
    async (watchers) => {
      const clock = new SharedTime();
      const limit = new Limit(clock, 3_000);
      let count = 0;
      const watches = Array.from({ length: watchers }, () =>
        startWatching(clock, limit, (run) => run.reported.messages.push(`m${count++}`)),
      );
      await clock.goTo(clock.now() + 3 * 60_000);
      await Promise.all(watches.map(({ stop }) => stop()));
      expect(limit.refusedCount).toBe(0);
      // A part of the limit remains for requests other than polling.
      expect(limit.maxUsed).toBeLessThanOrEqual(3_000 * 0.97);
      expect(limit.maxUsed).toBeGreaterThan(1_000);
    },
    120_000,
  );
});

describe('a pause', () => {
  const allowance = (remaining: number) => ({ remaining, limit: 1_000, milliseconds: 40_000 });
  const constantRandom = (): number => 0.5;

  it('becomes longer as the rate limit is used up, and lasts until the window ends when almost nothing remains', () => {
    expect(stretchedPause(500, undefined, constantRandom)).toBe(500);
    expect([1_000, 500, 499, 250, 249, 100].map((remaining) => stretchedPause(500, allowance(remaining), constantRandom))).toEqual([
      500, 500, 1_000, 1_000, 2_000, 2_000,
    ]);
    expect(stretchedPause(500, allowance(99), constantRandom)).toBe(42_000);
    expect(stretchedPause(500, allowance(0), constantRandom)).toBe(42_000);
    expect(stretchedPause(50_000, allowance(0), constantRandom)).toBe(50_000);
  });

  it('is reported as a wait for the rate limit only when it is one', () => {
    expect([1_000, 100, 99, 1, 0].map((remaining) => isNearlyUsedUp(allowance(remaining)))).toEqual([false, false, true, true, true]);
  });
});
