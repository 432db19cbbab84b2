/** The time limit of one attempt, body included. */
import type { Clock } from '../base/clock.ts';
import { retryPolicy } from './backoff.ts';
import type { Outcome } from './transport.ts';

/**
 * Runs an attempt under its time limit. Running out of it is a failure, not an abort.
 * @throws the signal's reason
 */
export async function timeLimited(clock: Clock, signal: AbortSignal, run: (limit: AbortSignal) => Promise<Outcome>): Promise<Outcome> {
  const late = new AbortController();
  const finished = new AbortController();
  const timer = clock.sleep(retryPolicy.attemptMilliseconds, finished.signal).then(
    () => late.abort(),
    () => undefined,
  );
  try {
    return await run(AbortSignal.any([signal, late.signal]));
  } catch (error) {
    signal.throwIfAborted();
    if (!late.signal.aborted) throw error;
    const reason = `no complete answer came within ${retryPolicy.attemptMilliseconds / 1_000} s`;
    return { kind: 'failure', maybeSent: true, final: false, reason, cause: error };
  } finally {
    finished.abort();
    await timer;
  }
}
