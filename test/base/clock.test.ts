import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { AopsError, exitCodes, UsageError } from '../../src/base/errors.ts';

describe('the system clock', () => {
  it('ends a sleep with the reason it was given, before and during', async () => {
    const reason = new Error('enough');
    await expect(systemClock.sleep(60_000, AbortSignal.abort(reason))).rejects.toBe(reason);
    const controller = new AbortController();
    const sleep = systemClock.sleep(60_000, controller.signal);
    controller.abort(reason);
    await expect(sleep).rejects.toBe(reason);
  });

  it('takes no time for none', async () => {
    await systemClock.sleep(0);
    await systemClock.sleep(-5);
  });
});

describe('an error', () => {
  it('carries what scripts need', () => {
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

  it('of usage is exit 2', () => {
    expect(new UsageError('No.', 'Do.')).toMatchObject({ name: 'UsageError', exit: 2, code: 'usage', hint: 'Do.' });
  });

  it('has an exit code of its own for each outcome', () => {
    expect(new Set(Object.values(exitCodes)).size).toBe(Object.keys(exitCodes).length);
  });
});
