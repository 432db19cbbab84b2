/** A time limit for work that waits for another party. */
import { orAborted } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';

/**
 * The result of the work, within `limit` milliseconds. The signal that the work receives is aborted after that time with the error
 * from `timeoutError`, or earlier with the reason of `signal`; that error is then thrown, whatever the work does.
 */
export async function withinTime<T>(
  clock: Clock,
  { limit, timeoutError, signal }: { limit: number; timeoutError: () => Error; signal: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const end = new AbortController();
  const timer = new AbortController();
  const watch = clock.sleep(limit, end.signal).then(
    () => timer.abort(timeoutError()),
    () => undefined,
  );
  const anySignal = AbortSignal.any([signal, timer.signal]);
  try {
    anySignal.throwIfAborted();
    return await orAborted(work(anySignal), anySignal);
  } finally {
    end.abort();
    await watch;
  }
}
