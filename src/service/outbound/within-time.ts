/** A time limit for work that waits for another party. */
import { orAborted } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';

/**
 * The result of the work, within `limit` milliseconds. The signal that the work receives is aborted after that time with the error
 * from `late`, or earlier with the reason of `signal`; that error is then thrown, whatever the work does.
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
