/** The budget of requests of many runs, and the pauses between their polls. */
import { describe, expect, it } from 'vitest';
import { maxRequestsPerMinute, RequestBudget } from '../../src/watch/many/request-budget.ts';
import { RunsPace } from '../../src/watch/many/runs-pace.ts';
import { maxPerMinute, SharedTime } from './shared-time.ts';

const inertSignal = new AbortController().signal;

/** The times of as many requests as possible, in milliseconds since the start. */
async function requestsFor(minutes: number, stretch = 1): Promise<number[]> {
  const clock = new SharedTime();
  const startTime = clock.now();
  const budget = new RequestBudget(clock, () => stretch);
  const stop = new AbortController();
  const times: number[] = [];
  const end = (async () => {
    for (;;) {
      await budget.spend(stop.signal);
      times.push(clock.now() - startTime);
    }
  })().catch(() => undefined);
  await clock.goTo(startTime + minutes * 60_000 - 1);
  stop.abort(new Error('The test is over.'));
  await end;
  return times;
}

describe('a budget', () => {
  it('permits 300 requests in any minute, 30 of them at once', async () => {
    const times = await requestsFor(3);
    expect(maxPerMinute(times)).toBe(maxRequestsPerMinute);
    expect(times.filter((time) => time === 0)).toHaveLength(30);
    const gaps = times.slice(31).map((time, index) => time - (times[index + 30] as number));
    expect(Math.max(...gaps) - Math.min(...gaps)).toBeLessThan(1);
  });

  it('permits fewer as the rate limit is used up', async () => {
    const [usual, stretched] = [(await requestsFor(10)).length, (await requestsFor(10, 4)).length];
    expect(stretched / usual).toBeLessThan(0.27);
  });

  it('serves several callers one after the other', async () => {
    const clock = new SharedTime();
    const startTime = clock.now();
    const budget = new RequestBudget(clock, () => 1);
    const order: string[] = [];
    for (let count = 0; count < 30; count += 1) await budget.spend(inertSignal);
    for (const name of ['a', 'b', 'c'])
      void budget.spend(inertSignal).then(() => order.push(`${name} ${Math.round(clock.now() - startTime)}`));
    await clock.goTo(startTime + 1_000);
    expect(order).toEqual(['a 222', 'b 444', 'c 667']);
  });
});

describe('the pause between polls', () => {
  function startPace(dueAt = Number.NEGATIVE_INFINITY) {
    const pauses: number[] = [];
    const clock = { now: () => 0, steady: () => 1_000, sleep: async (milliseconds: number) => void pauses.push(milliseconds) };
    const schedule = { dueAt };
    return { pace: new RunsPace(clock, schedule, new RequestBudget(clock, () => 1)), pauses, schedule };
  }

  it('ends when something is due', async () => {
    const { pace, pauses, schedule } = startPace(1_400);
    await pace.pause(true, inertSignal);
    schedule.dueAt = 900;
    await pace.pause(false, inertSignal);
    expect(pauses).toEqual([400, 0]);
  });

  it('is longer after each failure, and not after a success', async () => {
    const { pace, pauses } = startPace();
    for (const hasSucceeded of [true, false, false, false, false, true, false]) {
      pace.record(hasSucceeded);
      await pace.pause(false, inertSignal);
    }
    expect(pauses).toEqual([0, 1_000, 2_000, 4_000, 5_000, 0, 1_000]);
  });

  it('lasts until the window of the rate limit ends if hardly anything of it remains', async () => {
    const { pace, pauses } = startPace(1_400);
    await pace.pause(true, inertSignal, { remaining: 100, limit: 1_000, milliseconds: 30_000 });
    await pace.pause(true, inertSignal, { remaining: 99, limit: 1_000, milliseconds: 30_000 });
    expect(pauses[0]).toBe(400);
    expect(pauses[1]).toBeGreaterThanOrEqual(30_000);
  });
});
