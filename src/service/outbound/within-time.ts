/** A time limit on work that waits for somebody else. */
import { orAborted } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';

/**
 * The work's result, within `limit` milliseconds. The signal that the work is given is aborted at the end of that time with what
 * `late` makes, and before it with the reason of `signal`; either is what is thrown then, whatever the work does.
 */
export async function withinTime<T>(
  clock: Clock,
  { limit, late, signal }: { limit: number; late: () => Error; signal: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const expired = new AbortController();
  const watch = clock.sleep(limit, over.signal).then(
    () => expired.abort(late()),
    () => undefined,
  );
  const either = AbortSignal.any([signal, expired.signal]);
  try {
    either.throwIfAborted();
    return await orAborted(work(either), either);
  } finally {
    over.abort();
    await watch;
  }
}
