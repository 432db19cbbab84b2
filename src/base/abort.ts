/** Waiting that a signal can end. */
import { setMaxListeners } from 'node:events';

/** The promise, unless the signal comes first. */
export async function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  // Nobody hears of its failure any more once the signal came.
  promise.catch(() => undefined);
  signal.throwIfAborted();
  let stopListening = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    stopListening = () => signal.removeEventListener('abort', onAbort);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    stopListening();
  }
}

/** One signal for all that are given. */
export function anySignal(signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  const given = signals.filter((signal) => signal !== undefined);
  return given.length === 1 ? (given[0] as AbortSignal) : AbortSignal.any(given);
}

/** Aborted with any of the signals, for many that wait at the same time: Node would take so many listeners for a leak, and say so. */
export function sharedSignal(...signals: AbortSignal[]): AbortSignal {
  const shared = AbortSignal.any(signals);
  setMaxListeners(0, shared);
  return shared;
}
