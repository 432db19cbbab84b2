/** Work of a runtime that might not end when it is aborted. */
import { systemClock } from '../../../base/clock.ts';

/** Milliseconds that a runtime has to end after an abort. Then it is no longer waited for. */
const abortGrace = 2_000;

/** The result of the work. After an abort, the work has a moment to end; if it does not, the reason of the abort is thrown anyway. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort: () => void = () => undefined;
  const abortPromise = new Promise<void>((resolve) => {
    // Without the event: only the absence of a value says that the work was aborted.
    onAbort = () => resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) resolve();
  });
  try {
    const first = await Promise.race([work.then((value) => ({ value })), abortPromise]);
    if (first !== undefined) return first.value;
    const grace = new AbortController();
    const timeout = systemClock.sleep(abortGrace, grace.signal).catch(() => undefined);
    await Promise.race([work.catch(() => undefined), timeout]);
    grace.abort();
    throw signal.reason;
  } finally {
    signal.removeEventListener('abort', onAbort);
    // If the work is no longer waited for, its failure is ignored.
    work.catch(() => undefined);
  }
}
