/** Sending an answer that a person gave, also when the service is away just then. */
import type { Clock } from '../../base/clock.ts';
import { AopsError, exitCodes } from '../../base/errors.ts';

/** How long after an attempt the next one follows, in milliseconds. */
const pauseMs = 2_000;

export interface Delivery {
  clock: Clock;
  note: (text: string) => void;
  /** Aborted when the request is no longer pending, or nobody waits for the answer any more: then one last attempt is made. */
  withdrawn: AbortSignal;
}

/**
 * Sends the answer until the service replies. Each attempt is the same change with the same key, so it is carried out once.
 * @throws the error of the service, or of the last attempt when the answer was withdrawn while the service was away
 */
export async function deliver(send: () => Promise<unknown>, { clock, note, withdrawn }: Delivery): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const last = withdrawn.aborted;
    try {
      await send();
      if (attempt > 1) note('The service is back. Your answer was sent.');
      return;
    } catch (error) {
      if (last || !isAway(error)) throw error;
      if (attempt === 1) note('The service cannot be reached. Your answer is kept, and will be sent when the service is back.');
    }
    await clock.sleep(pauseMs, withdrawn).catch(() => undefined);
  }
}

/** Whether the service could not be reached, or did not say what became of the answer. */
export const isAway = (error: unknown): boolean =>
  error instanceof AopsError && (error.exit === exitCodes.unavailable || error.exit === exitCodes.outcomeUnknown);
