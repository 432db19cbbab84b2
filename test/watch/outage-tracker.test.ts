/** How long an outage may last: measured in elapsed time, not in time of day. */
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { outageNotes } from '../../src/cli/following/outage.ts';
import { ServiceAnswerError, UnavailableError } from '../../src/client/errors.ts';
import { maxOutageMilliseconds, type Outage, OutageTracker } from '../../src/watch/outage-tracker.ts';
import { fakeTerminal } from '../terminal/fake-streams.ts';

/** A clock whose times are set by the test. */
class TwoTimes implements Clock {
  timeOfDay = Date.parse('2026-07-18T09:00:00.000Z');
  passed = 0;
  now = () => this.timeOfDay;
  steady = () => this.passed;
  sleep = () => Promise.reject(new Error('Nothing waits here.'));
}

const away = new UnavailableError('The service cannot be reached.', { method: 'GET' }, undefined, 'Check the network.');

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

  it('may last exactly a minute', () => {
    const clock = new TwoTimes();
    const outages = new OutageTracker(clock);
    expect(outages.tolerates(away)).toBe(true);
    clock.passed = maxOutageMilliseconds;
    expect(outages.tolerates(away)).toBe(true);
    clock.passed += 1;
    expect(outages.tolerates(away)).toBe(false);
  });

  it('is measured again after the service has answered', () => {
    const clock = new TwoTimes();
    const outages = new OutageTracker(clock);
    for (let count = 0; count < 3; count++) {
      expect(outages.tolerates(away)).toBe(true);
      clock.passed += maxOutageMilliseconds;
      outages.answered();
    }
    expect(outages.tolerates(away)).toBe(true);
  });

  it('is reported at the second failure in a row only', () => {
    const reports: (Outage | undefined)[] = [];
    const outages = new OutageTracker(new TwoTimes(), (outage) => reports.push(outage));
    for (let count = 0; count < 3; count++) {
      outages.tolerates(away);
      outages.answered();
    }
    expect(reports).toEqual([]);
  });

  it('includes any response that says so, except that an operation is not implemented', () => {
    const answered = (status: number) => new ServiceAnswerError(status, { error: 'unavailable' }, {});
    const tolerates = (error: unknown) => new OutageTracker(new TwoTimes()).tolerates(error);
    expect([500, 502, 503, 501].map((status) => tolerates(answered(status)))).toEqual([true, true, true, false]);
    const outages = new OutageTracker(new TwoTimes());
    outages.answered();
    expect([503, 501].map((status) => outages.tolerates(answered(status)))).toEqual([true, false]);
    const broken = Object.assign(new Error('broken'), { exit: away.exit });
    expect([answered(404), answered(401), broken, 'broken', null].map(tolerates)).toEqual([false, false, false, false, false]);
  });

  it('includes an untrusted certificate only after the service has answered', () => {
    const untrusted = Object.assign(new UnavailableError('The certificate is not trusted.', {}), { final: true });
    const outages = new OutageTracker(new TwoTimes());
    expect(outages.tolerates(untrusted)).toBe(false);
    expect(outages.tolerates(away)).toBe(true);
    expect(outages.tolerates(untrusted)).toBe(false);
    outages.answered();
    expect(outages.tolerates(untrusted)).toBe(true);
  });

  it('can last for any time while somebody is writing an answer', () => {
    const clock = new TwoTimes();
    let writes = true;
    const outages = new OutageTracker(clock, undefined, () => writes);
    expect(outages.tolerates(away)).toBe(true);
    clock.passed += 10 * maxOutageMilliseconds;
    expect(outages.tolerates(away)).toBe(true);
    writes = false;
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

describe('the error that ends watching', () => {
  /** The message of the error after an outage that was reported as these options say, and what was printed before. */
  function ended(format: 'table' | 'json', quiet: boolean) {
    const clock = new TwoTimes();
    clock.passed = 5_000;
    const { terminal, stderr } = fakeTerminal({ tty: true, quiet });
    const outages = new OutageTracker(clock, outageNotes({ terminal, clock, format }));
    outages.tolerates(away);
    outages.tolerates(away);
    clock.passed += maxOutageMilliseconds + 1_000;
    expect(outages.tolerates(away)).toBe(false);
    return { error: outages.ending(away) as UnavailableError, printed: stderr(), outages, clock };
  }

  it('does not repeat the reason that is on the screen', () => {
    const { error, printed } = ended('table', false);
    expect(printed).toContain('The service cannot be reached.\n');
    expect(error.message).toBe('The service has not answered for 1m 1s.');
    expect(error).toMatchObject({ code: away.code, exit: away.exit, hint: away.hint, details: away.details, cause: away });
  });

  it('contains the reason if it was not shown, or only to a program', () => {
    expect(ended('table', true)).toMatchObject({ error: away, printed: '' });
    expect(ended('json', false)).toMatchObject({
      error: away,
      printed: expect.stringContaining('"reason":"The service cannot be reached."'),
    });
    const outages = new OutageTracker(new TwoTimes());
    for (let failure = 0; failure < 3; failure++) outages.tolerates(away);
    expect(outages.ending(away)).toBe(away);
  });

  it('is unchanged if it has another reason, or the outage is over', () => {
    const { outages, clock } = ended('table', false);
    for (const other of [new UnavailableError('The certificate has expired.', {}), new Error(away.message), away.message, null])
      expect(outages.ending(other)).toBe(other);
    outages.answered();
    expect(outages.ending(away)).toBe(away);
    // The reason for the next outage is the same, but it has not been shown again.
    expect(outages.tolerates(away)).toBe(true);
    clock.passed += maxOutageMilliseconds + 1;
    expect(outages.tolerates(away)).toBe(false);
    expect(outages.ending(away)).toBe(away);
  });
});
