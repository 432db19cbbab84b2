/** Waiting that a signal can cut short. */
import { setMaxListeners } from 'node:events';

/** Settles like the promise, unless the signal is aborted first. @throws the signal's reason */
export async function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  // Once the signal is aborted nothing handles the promise's rejection.
  promise.catch(() => undefined);
  signal.throwIfAborted();
  let stopListening = (): void => undefined;
  const abortPromise = new Promise<never>((_, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    stopListening = () => signal.removeEventListener('abort', onAbort);
  });
  try {
    return await Promise.race([promise, abortPromise]);
  } finally {
    stopListening();
  }
}

/** One signal that is aborted with any of those that are defined. */
export function anySignal(signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  const definedSignals = signals.filter((signal) => signal !== undefined);
  return definedSignals.length === 1 ? (definedSignals[0] as AbortSignal) : AbortSignal.any(definedSignals);
}

/** Aborted with any of the signals, for many simultaneous waits: Node would take that many listeners for a leak and print a warning. */
export function sharedSignal(...signals: AbortSignal[]): AbortSignal {
  const combinedSignal = AbortSignal.any(signals);
  setMaxListeners(0, combinedSignal);
  return combinedSignal;
}
