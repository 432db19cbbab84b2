/** The time limit of one attempt, body included. */
import type { Clock } from '../base/clock.ts';
import { retryPolicy } from './retry-policy.ts';
import type { Outcome } from './transport.ts';

/** Abort reasons without the stack trace that a default reason would have. */
const attemptEnded = 'the attempt is over';
const attemptTimedOut = 'the attempt took too long';

/**
 * Runs an attempt with a time limit. Exceeding the limit is a failure, not an abort.
 * @throws the signal's reason
 */
export async function timeLimited(
  clock: Clock,
  signal: AbortSignal,
  run: (limit: AbortSignal) => Promise<Outcome>,
  milliseconds: number = retryPolicy.attemptMilliseconds,
): Promise<Outcome> {
  // AbortSignal.any would do the same at several times the cost per request.
  const limit = new AbortController();
  const onAbort = (): void => limit.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  const timer = clock.sleep(milliseconds, limit.signal).then(
    () => limit.abort(attemptTimedOut),
    () => undefined,
  );
  try {
    return await run(limit.signal);
  } catch (error) {
    signal.throwIfAborted();
    if (limit.signal.reason !== attemptTimedOut) throw error;
    const reason = `no complete answer came within ${milliseconds / 1_000} s`;
    return { kind: 'failure', maybeSent: true, final: false, reason, cause: error };
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Ends the wait for the time limit; there are no other listeners any more.
    limit.abort(attemptEnded);
    await timer;
  }
}
