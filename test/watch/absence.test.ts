/** How long a service may be away: measured in time that passes, not in time of day. */
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { UnavailableError } from '../../src/client/errors.ts';
import { Absence, longestAbsence, type Outage } from '../../src/watch/absence.ts';

/** A clock of which both times are set by hand. */
class TwoTimes implements Clock {
  timeOfDay = Date.parse('2026-07-18T09:00:00.000Z');
  passed = 0;
  now = () => this.timeOfDay;
  steady = () => this.passed;
  sleep = () => Promise.reject(new Error('Nothing waits here.'));
}

const away = new UnavailableError('The service cannot be reached.', {});

describe('an absence of the service', () => {
  it('still lasts only a moment when the clock is set forward', () => {
    const clock = new TwoTimes();
    const absence = new Absence(clock);
    expect(absence.passes(away)).toBe(true);
    clock.timeOfDay += 10 * longestAbsence;
    clock.passed += 1_000;
    expect(absence.passes(away)).toBe(true);
  });

  it('still ends the watch when the clock is set back', () => {
    const clock = new TwoTimes();
    const absence = new Absence(clock);
    expect(absence.passes(away)).toBe(true);
    clock.timeOfDay -= 10 * longestAbsence;
    clock.passed += longestAbsence + 1;
    expect(absence.passes(away)).toBe(false);
  });

  it('is reported once, with the time of day at which it began, and its end once', () => {
    const clock = new TwoTimes();
    const outages: (Outage | undefined)[] = [];
    const absence = new Absence(clock, (outage) => outages.push(outage));
    const since = clock.timeOfDay;
    for (let failure = 0; failure < 3; failure++) {
      absence.passes(away);
      clock.timeOfDay += 1_000;
    }
    expect(absence.over()).toBe(true);
    expect(absence.over()).toBe(false);
    expect(outages).toEqual([{ since, reason: 'The service cannot be reached.' }, undefined]);
  });
});
