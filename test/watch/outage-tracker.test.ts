/** How long an outage may last: measured in elapsed time, not in time of day. */
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { UnavailableError } from '../../src/client/errors.ts';
import { maxOutageMilliseconds, type Outage, OutageTracker } from '../../src/watch/outage-tracker.ts';

/** A clock whose times are set by the test. */
class TwoTimes implements Clock {
  timeOfDay = Date.parse('2026-07-18T09:00:00.000Z');
  passed = 0;
  now = () => this.timeOfDay;
  steady = () => this.passed;
  sleep = () => Promise.reject(new Error('Nothing waits here.'));
}

const away = new UnavailableError('The service cannot be reached.', {});

describe('an outage of the service', () => {
  it('is still short when the system clock is set forward', () => {
    const clock = new TwoTimes();
    const outages = new OutageTracker(clock);
    expect(outages.tolerates(away)).toBe(true);
    clock.timeOfDay += 10 * maxOutageMilliseconds;
    clock.passed += 1_000;
    expect(outages.tolerates(away)).toBe(true);
  });

  it('still ends watching when the system clock is set back', () => {
    const clock = new TwoTimes();
    const outages = new OutageTracker(clock);
    expect(outages.tolerates(away)).toBe(true);
    clock.timeOfDay -= 10 * maxOutageMilliseconds;
    clock.passed += maxOutageMilliseconds + 1;
    expect(outages.tolerates(away)).toBe(false);
  });

  it('is reported once with the time of day at which it started, and so is its end', () => {
    const clock = new TwoTimes();
    const reports: (Outage | undefined)[] = [];
    const outages = new OutageTracker(clock, (outage) => reports.push(outage));
    const since = clock.timeOfDay;
    for (let failure = 0; failure < 3; failure++) {
      outages.tolerates(away);
      clock.timeOfDay += 1_000;
    }
    expect(outages.answered()).toBe(true);
    expect(outages.answered()).toBe(false);
    expect(reports).toEqual([{ since, reason: 'The service cannot be reached.' }, undefined]);
  });
});
