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
  elapsedTime = 0;
  now = () => this.timeOfDay;
  steady = () => this.elapsedTime;
  sleep = () => Promise.reject(new Error('Nothing waits here.'));
}

const unreachableError = new UnavailableError('The service cannot be reached.', { method: 'GET' }, undefined, 'Check the network.');

describe('an outage of the service', () => {
  it('is still short when the system clock is set forward', () => {
    const clock = new TwoTimes();
    const outages = new OutageTracker(clock);
    expect(outages.tolerates(unreachableError)).toBe(true);
    clock.timeOfDay += 10 * maxOutageMilliseconds;
    clock.elapsedTime += 1_000;
    expect(outages.tolerates(unreachableError)).toBe(true);
  });

  it('still ends watching when the system clock is set back', () => {
    const clock = new TwoTimes();
    const outages = new OutageTracker(clock);
    expect(outages.tolerates(unreachableError)).toBe(true);
    clock.timeOfDay -= 10 * maxOutageMilliseconds;
    clock.elapsedTime += maxOutageMilliseconds + 1;
    expect(outages.tolerates(unreachableError)).toBe(false);
  });

  it('may last exactly a minute', () => {
    const clock = new TwoTimes();
    const outages = new OutageTracker(clock);
    expect(outages.tolerates(unreachableError)).toBe(true);
    clock.elapsedTime = maxOutageMilliseconds;
    expect(outages.tolerates(unreachableError)).toBe(true);
    clock.elapsedTime += 1;
    expect(outages.tolerates(unreachableError)).toBe(false);
  });

  it('is measured again after the service has answered', () => {
    const clock = new TwoTimes();
    const outages = new OutageTracker(clock);
    for (let count = 0; count < 3; count++) {
      expect(outages.tolerates(unreachableError)).toBe(true);
      clock.elapsedTime += maxOutageMilliseconds;
      outages.recordAnswer();
    }
    expect(outages.tolerates(unreachableError)).toBe(true);
  });

  it('is reported at the second failure in a row only', () => {
    const reports: (Outage | undefined)[] = [];
    const outages = new OutageTracker(new TwoTimes(), (outage) => reports.push(outage));
    for (let count = 0; count < 3; count++) {
      outages.tolerates(unreachableError);
      outages.recordAnswer();
    }
    expect(reports).toEqual([]);
  });

  it('includes any response that says so, except that an operation is not implemented', () => {
    const answerError = (status: number) => new ServiceAnswerError(status, { error: 'unavailable' }, {});
    const tolerates = (error: unknown) => new OutageTracker(new TwoTimes()).tolerates(error);
    expect([500, 502, 503, 501].map((status) => tolerates(answerError(status)))).toEqual([true, true, true, false]);
    const outages = new OutageTracker(new TwoTimes());
    outages.recordAnswer();
    expect([503, 501].map((status) => outages.tolerates(answerError(status)))).toEqual([true, false]);
    const brokenError = Object.assign(new Error('broken'), { exit: unreachableError.exit });
    expect([answerError(404), answerError(401), brokenError, 'broken', null].map(tolerates)).toEqual([false, false, false, false, false]);
  });

  it('includes an untrusted certificate only after the service has answered', () => {
    const untrustedError = Object.assign(new UnavailableError('The certificate is not trusted.', {}), { final: true });
    const outages = new OutageTracker(new TwoTimes());
    expect(outages.tolerates(untrustedError)).toBe(false);
    expect(outages.tolerates(unreachableError)).toBe(true);
    expect(outages.tolerates(untrustedError)).toBe(false);
    outages.recordAnswer();
    expect(outages.tolerates(untrustedError)).toBe(true);
  });

  it('can last for any time while somebody is writing an answer', () => {
    const clock = new TwoTimes();
    let writes = true;
    const outages = new OutageTracker(clock, undefined, () => writes);
    expect(outages.tolerates(unreachableError)).toBe(true);
    clock.elapsedTime += 10 * maxOutageMilliseconds;
    expect(outages.tolerates(unreachableError)).toBe(true);
    writes = false;
    expect(outages.tolerates(unreachableError)).toBe(false);
  });

  it('is reported once with the time of day at which it started, and so is its end', () => {
    const clock = new TwoTimes();
    const reports: (Outage | undefined)[] = [];
    const outages = new OutageTracker(clock, (outage) => reports.push(outage));
    const since = clock.timeOfDay;
    for (let failure = 0; failure < 3; failure++) {
      outages.tolerates(unreachableError);
      clock.timeOfDay += 1_000;
    }
    expect(outages.recordAnswer()).toBe(true);
    expect(outages.recordAnswer()).toBe(false);
    expect(reports).toEqual([{ since, reason: 'The service cannot be reached.' }, undefined]);
  });
});

describe('the error that ends watching', () => {
  /** The message of the error after an outage that was reported as these options say, and what was printed before. */
  function describeEnd(format: 'table' | 'json', isQuiet: boolean) {
    const clock = new TwoTimes();
    clock.elapsedTime = 5_000;
    const { terminal, stderr } = fakeTerminal({ tty: true, quiet: isQuiet });
    const outages = new OutageTracker(clock, outageNotes({ terminal, clock, format }));
    outages.tolerates(unreachableError);
    outages.tolerates(unreachableError);
    clock.elapsedTime += maxOutageMilliseconds + 1_000;
    expect(outages.tolerates(unreachableError)).toBe(false);
    return { error: outages.describeEnd(unreachableError) as UnavailableError, output: stderr(), outages, clock };
  }

  it('does not repeat the reason that is on the screen', () => {
    const { error, output } = describeEnd('table', false);
    expect(output).toContain('The service cannot be reached.\n');
    expect(error.message).toBe('The service has not answered for 1m 1s.');
    expect(error).toMatchObject({
      code: unreachableError.code,
      exit: unreachableError.exit,
      hint: unreachableError.hint,
      details: unreachableError.details,
      cause: unreachableError,
    });
  });

  it('contains the reason if it was not shown, or only to a program', () => {
    expect(describeEnd('table', true)).toMatchObject({ error: unreachableError, output: '' });
    expect(describeEnd('json', false)).toMatchObject({
      error: unreachableError,
      output: expect.stringContaining('"reason":"The service cannot be reached."'),
    });
    const outages = new OutageTracker(new TwoTimes());
    for (let failure = 0; failure < 3; failure++) outages.tolerates(unreachableError);
    expect(outages.describeEnd(unreachableError)).toBe(unreachableError);
  });

  it('is unchanged if it has another reason, or the outage is over', () => {
    const { outages, clock } = describeEnd('table', false);
    for (const otherError of [
      new UnavailableError('The certificate has expired.', {}),
      new Error(unreachableError.message),
      unreachableError.message,
      null,
    ])
      expect(outages.describeEnd(otherError)).toBe(otherError);
    outages.recordAnswer();
    expect(outages.describeEnd(unreachableError)).toBe(unreachableError);
    // The reason for the next outage is the same, but it has not been shown again.
    expect(outages.tolerates(unreachableError)).toBe(true);
    clock.elapsedTime += maxOutageMilliseconds + 1;
    expect(outages.tolerates(unreachableError)).toBe(false);
    expect(outages.describeEnd(unreachableError)).toBe(unreachableError);
  });
});
