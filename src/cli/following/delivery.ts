/** Sends a person's answer, even if the service is unreachable at that moment. */
import type { Clock } from '../../base/clock.ts';
import { AopsError, exitCodes } from '../../base/errors.ts';

/** Pause between two attempts, in milliseconds. */
const pauseMs = 2_000;

export interface Delivery {
  clock: Clock;
  note: (text: string) => void;
  /** Aborted when the request is no longer pending, or the command ends: then one last attempt is made. */
  withdrawal: AbortSignal;
}

/**
 * Sends the answer until the service replies. Each attempt is the same change with the same key, so it is carried out only once.
 * @throws the service's error, or that of the last attempt when the request was withdrawn while the service was unreachable
 */
export async function deliver(send: () => Promise<unknown>, { clock, note, withdrawal }: Delivery): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const isLastAttempt = withdrawal.aborted;
    try {
      await send();
      if (attempt > 1) note('The service is reachable again. Your answer was sent.');
      return;
    } catch (error) {
      if (isLastAttempt || !isAway(error)) throw error;
      if (attempt === 1) note('The service is unreachable. Your answer will be sent once it is back.');
    }
    await clock.sleep(pauseMs, withdrawal).catch(() => undefined);
  }
}

/** Whether the service could not be reached, or the outcome is unknown. */
export const isAway = (error: unknown): boolean =>
  error instanceof AopsError && (error.exit === exitCodes.unavailable || error.exit === exitCodes.outcomeUnknown);
