/** How long each pause between polls is. */
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { Pace, type PaceOptions } from '../../src/watch/pace.ts';
import { failureOf } from '../client/harness.ts';

const inertSignal = new AbortController().signal;

/** A pace on a clock that the test sets: pauses are recorded, and take no time. */
function makePace(options?: PaceOptions) {
  let now = 0;
  const pauses: number[] = [];
  const clock: Clock = {
    now: () => Date.parse('2026-07-18T09:00:00.000Z'),
    steady: () => now,
    async sleep(milliseconds, signal) {
      signal?.throwIfAborted();
      pauses.push(milliseconds);
    },
  };
  const pace = new Pace(clock, options);
  const setTime = (time: number): void => {
    now = time;
  };
  const spend = (count: number): void => {
    for (let request = 0; request < count; request += 1) void pace.spend(inertSignal);
  };
  /** The length of the next pause. */
  const pause = async (hasNews = true, allowance?: Parameters<Pace['pause']>[2]): Promise<number | undefined> => {
    await pace.pause(hasNews, inertSignal, allowance);
    return pauses.at(-1);
  };
  return { pace, pauses, at: setTime, spend, pause };
}

describe('a pause', () => {
  it('starts at the minimum and grows to the maximum while there is no news', async () => {
    const { pauses, pause } = makePace();
    for (const hasNews of [false, false, true, false]) await pause(hasNews);
    expect(pauses.map(Math.round)).toEqual([476, 666, 340, 476]);
    const limitedPace = makePace({ minimum: 100, maximum: 150 });
    for (const hasNews of [false, false, false, true]) await limitedPace.pause(hasNews);
    expect(limitedPace.pauses.map(Math.round)).toEqual([140, 150, 150, 100]);
  });

  it('is the minimum again after it was hurried', async () => {
    const { pace, pauses, pause } = makePace();
    for (let count = 0; count < 5; count += 1) await pause(false);
    pace.hurry();
    await pause(false);
    expect(pace.isQuick).toBe(true);
    await pause(false);
    expect(pauses.slice(4).map(Math.round)).toEqual([1829, 476]);
  });

  it('ends with the reason of its signal, even if it was hurried as well', async () => {
    const { pace } = makePace();
    pace.hurry();
    const reason = new Error('enough');
    expect(await failureOf(pace.pause(true, AbortSignal.abort(reason)))).toBe(reason);
  });

  it('fails when the clock fails', async () => {
    const clockError = new Error('The clock is broken.');
    const pace = new Pace({ now: () => 0, sleep: () => Promise.reject(clockError) });
    expect(await failureOf(pace.pause(true, inertSignal))).toBe(clockError);
  });

  it('is long while something else reports changes, however busy it was', async () => {
    const { pace, spend, pause } = makePace();
    spend(57);
    pace.rest(true);
    expect(await pause()).toBe(30_000);
    expect(await pause(false, { remaining: 0, limit: 1_000, milliseconds: 40_000 })).toBe(30_000);
    pace.rest(false);
    expect(await pause()).toBe(60_000);
  });

  it('becomes longer as the rate limit is used up, with jitter', async () => {
    const { pause } = makePace({ random: () => 0.5 });
    const allowance = (remaining: number) => ({ remaining, limit: 1_000, milliseconds: 40_000 });
    expect(await pause(true, allowance(500))).toBe(340);
    expect(await pause(true, allowance(499))).toBe(680);
    expect(await pause(true, allowance(250))).toBe(680);
    expect(await pause(true, allowance(249))).toBe(1_360);
    expect(await pause(true, allowance(0))).toBe(42_000);
  });
});

describe('requests', () => {
  it('may follow one another quickly until nothing has happened for a second', async () => {
    const { pace, pause } = makePace();
    const quickStates = [pace.isQuick];
    for (let count = 0; count < 4; count += 1) {
      await pause(false);
      quickStates.push(pace.isQuick);
    }
    // 340, 476, 666, 933 and 1306 ms
    expect(quickStates).toEqual([true, true, true, true, false]);
    expect(makePace({ minimum: 999 }).pace.isQuick).toBe(true);
    expect(makePace({ minimum: 1_000 }).pace.isQuick).toBe(false);
  });

  it('are spread over the rest of the minute once 45 were made in it', async () => {
    const { pace, at, spend, pause } = makePace();
    spend(44);
    expect(await pause()).toBe(340);
    expect(pace.isQuick).toBe(true);
    at(12_000);
    spend(1);
    // The first 12 of 57 remain for 48 seconds.
    expect(await pause()).toBe(48_000 / 12);
    expect(pace.isQuick).toBe(false);
    spend(11);
    expect(await pause()).toBe(48_000);
  });

  it('wait until the oldest of 57 is a minute old', async () => {
    const { at, spend, pause } = makePace({ minimum: 1 });
    for (let count = 0; count < 60; count += 1) {
      at(count * 100);
      spend(1);
    }
    at(6_000);
    // The fourth was made at 300 ms: 56 are left when it no longer counts.
    expect(await pause()).toBe(54_300);
    at(60_299);
    expect(await pause()).toBe(1);
    at(60_300);
    expect(await pause()).toBeCloseTo(60_000 / 57, 5);
  });

  it('are never closer together than an even distribution over a minute', async () => {
    const { at, spend, pause } = makePace();
    spend(45);
    at(59_990);
    expect(await pause()).toBeCloseTo(60_000 / 57, 5);
  });

  it('remain spread until fewer than 20 were made in the last minute', async () => {
    const { pace, at, spend, pause } = makePace();
    spend(25);
    at(30_000);
    spend(20);
    await pause();
    at(60_000);
    await pause();
    expect(pace.isQuick).toBe(false);
    at(89_999);
    await pause();
    expect(pace.isQuick).toBe(false);
    at(90_000);
    spend(19);
    expect(await pause()).toBe(340);
    expect(pace.isQuick).toBe(true);
  });
});

describe('a request', () => {
  it('waits until fewer than 60 requests were made in the last minute, unless it catches up', async () => {
    const { pace, pauses, at, spend } = makePace();
    spend(60);
    at(1_000);
    await pace.spend(inertSignal, true);
    expect(pauses).toEqual([]);
    await pace.spend(inertSignal);
    expect(pauses).toEqual([59_000]);
  });
});
