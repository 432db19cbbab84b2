/** Keeps two processes from doing the same bulk work at the same time. */
import { AopsError, exitCodes } from '../../base/errors.ts';
import { takeLock, type Unlock } from '../../base/lock-file.ts';
import { writeFailure } from '../../base/write-failure.ts';
import type { Context } from '../kit/context.ts';
import { processMark } from '../kit/process-mark.ts';

/**
 * Locks the work whose lock is `file` until the returned function is called.
 * @param activity what the other process is doing, as part of a sentence: `importing cases.csv`
 * @throws AopsError (exit 6) when another process is doing it
 */
export async function lockWork(context: Context, file: string, { activity, code }: { activity: string; code: string }): Promise<Unlock> {
  const unlock = await takeLock(file, { waitMilliseconds: 0, signal: context.signal, ...processMark(context) }).catch((error: unknown) => {
    throw writeFailure(error, file);
  });
  if (unlock !== undefined) return unlock;
  throw new AopsError(`Another process is ${activity}.`, {
    code,
    exit: exitCodes.conflict,
    hint: 'Wait until it has finished, then run this command again.',
  });
}
