/** Work of a runtime that was told to end, and may not. */
import { systemClock } from '../../../base/clock.ts';

/** Milliseconds that a runtime gets to end after it was aborted, before it is left to itself. */
const abortGrace = 2_000;

/** The work's result. After an abort it gets a moment to end; when it does not, the abort's reason is thrown all the same. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<void>((resolve) => {
    onAbort = resolve;
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) resolve();
  });
  try {
    const first = await Promise.race([work.then((value) => ({ value })), aborted]);
    if (first !== undefined) return first.value;
    const grace = new AbortController();
    const over = systemClock.sleep(abortGrace, grace.signal).catch(() => undefined);
    await Promise.race([work.catch(() => undefined), over]);
    grace.abort();
    throw signal.reason;
  } finally {
    signal.removeEventListener('abort', onAbort);
    // When nobody waits for it any more, its failure is nobody's.
    work.catch(() => undefined);
  }
}
