import { describe, expect, it } from 'vitest';
import { holdTime, isSustained, nextWait, retryAfter, scheduledAttempts } from '../../../src/service/outbound/attempt-times.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const plain = { scale: 1, random: () => 0.5 };
const calmState = { isBusy: false };

describe('the schedule', () => {
  it('is that of Standard Webhooks: ten attempts', () => {
    const waitTimes = Array.from({ length: 10 }, (_, index) => nextWait(index + 1, calmState, plain));
    expect(waitTimes).toEqual([5_000, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour, undefined]);
    expect(scheduledAttempts).toBe(10);
  });

  it('varies by 20 % in both directions', () => {
    expect(nextWait(2, calmState, { scale: 1, random: () => 0 })).toBe(4 * minute);
    expect(nextWait(2, calmState, { scale: 1, random: () => 1 })).toBe(6 * minute);
  });

  it('can be scaled', () => {
    expect(nextWait(3, calmState, { scale: 0.01, random: () => 0.5 })).toBe(18_000);
  });

  it('waits as long as the receiver requests, but never less than the schedule', () => {
    expect(nextWait(1, { isBusy: true, retryAfter: 90_000 }, plain)).toBe(90_000);
    expect(nextWait(2, { isBusy: true, retryAfter: 1_000 }, plain)).toBe(5 * minute);
    expect(nextWait(1, { isBusy: true }, plain)).toBe(minute);
    expect(nextWait(1, { isBusy: false, retryAfter: 40 * day }, plain)).toBe(day);
    expect(nextWait(10, { isBusy: true, retryAfter: 1_000 }, plain)).toBeUndefined();
    expect([holdTime(calmState, plain), holdTime({ isBusy: true }, plain), holdTime({ isBusy: true, retryAfter: 5 }, plain)]).toEqual([
      undefined,
      minute,
      5,
    ]);
  });

  it('disables an endpoint after five days and ten failures, not earlier', () => {
    expect(isSustained(10, 0, 5 * day, plain)).toBe(true);
    expect(isSustained(9, 0, 50 * day, plain)).toBe(false);
    expect(isSustained(1_000, 0, 5 * day - 1, plain)).toBe(false);
    expect(isSustained(10, 0, 5 * hour, { ...plain, scale: 0.01 })).toBe(true);
  });
});

describe('Retry-After', () => {
  const now = Date.parse('2026-07-18T09:00:00Z');

  it.each([
    ['120', 120_000],
    ['0', 0],
    ['Sat, 18 Jul 2026 09:01:00 GMT', minute],
    ['Sat, 18 Jul 2026 08:00:00 GMT', 0],
    ['-1', undefined],
    ['1.5', undefined],
    ['12 s', undefined],
    ['soon', undefined],
    ['99999999999', undefined],
    [undefined, undefined],
  ])('%s is %s', (value, expected) => {
    expect(retryAfter(value, now)).toBe(expected);
  });
});
