/** Keeps two processes from doing the same bulk work at the same time. */
import { hostname } from 'node:os';
import { AopsError, exitCodes } from '../../base/errors.ts';
import { takeLock, type Unlock } from '../../base/lock-file.ts';
import { writeFailure } from '../../base/write-failure.ts';
import type { Context } from '../kit/context.ts';

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

/** Names this process, so that the lock of one that was killed on this machine does not have to expire. */
function processMark({ launcher }: Context): { holder: string; hasEnded: (holder: string) => boolean } {
  const machine = hostname();
  const hasEnded = (holder: string): boolean => {
    const [, pid, otherMachine] = /^(\d+) (.*)$/.exec(holder) ?? [];
    if (pid === undefined || otherMachine !== machine) return false;
    try {
      launcher.kill(Number(pid), 0);
      return false;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ESRCH';
    }
  };
  return { holder: `${launcher.pid} ${machine}`, hasEnded };
}
