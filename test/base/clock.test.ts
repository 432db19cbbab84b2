import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { AopsError, exitCodes, UsageError } from '../../src/base/errors.ts';

describe('the system clock', () => {
  it('rejects a sleep with the reason of its signal, aborted before or during the sleep', async () => {
    const reason = new Error('enough');
    await expect(systemClock.sleep(60_000, AbortSignal.abort(reason))).rejects.toBe(reason);
    const controller = new AbortController();
    const sleep = systemClock.sleep(60_000, controller.signal);
    controller.abort(reason);
    await expect(sleep).rejects.toBe(reason);
  });

  it('does not wait for a sleep of zero or less', async () => {
    await systemClock.sleep(0);
    await systemClock.sleep(-5);
  });
});

describe('an AopsError', () => {
  it('carries its code, exit code, hint, details and cause', () => {
    const cause = new Error('why');
    const error = new AopsError('What.', { code: 'a_code', exit: exitCodes.conflict, hint: 'Do.', details: { status: 409 }, cause });
    expect(error).toMatchObject({
      name: 'AopsError',
      message: 'What.',
      code: 'a_code',
      exit: 6,
      hint: 'Do.',
      details: { status: 409 },
      cause,
    });
    expect(new AopsError('What.', { code: 'c', exit: 1 })).toMatchObject({ details: {}, hint: undefined });
    expect(new AopsError('What.', { code: 'c', exit: 1 })).not.toHaveProperty('cause');
  });

  it('exits with 2 when it is a usage error', () => {
    expect(new UsageError('No.', 'Do.')).toMatchObject({ name: 'UsageError', exit: 2, code: 'usage', hint: 'Do.' });
  });

  it('has a different exit code for each outcome', () => {
    expect(new Set(Object.values(exitCodes)).size).toBe(Object.keys(exitCodes).length);
  });
});
