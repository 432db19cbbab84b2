/** Looking again and again: fast while things move, slower while nothing does, through short absences of the service. */
import type { Clock } from '../base/clock.ts';
import { AopsError, exitCodes } from '../base/errors.ts';
import type { Client } from '../client/client.ts';
import type { WaitingBody } from './events.ts';
import { Pace } from './pace.ts';
import { withWaits } from './rate-limit-waits.ts';

export interface WatchOptions {
  clock: Clock;
  signal: AbortSignal;
  /** How often to look; whoever holds it may hurry the next look. */
  pace?: Pace;
}

/** How long a service that has answered may be away, such as for a restart, before following ends. Milliseconds. */
const longestAbsence = 60_000;

/**
 * What one look after the other brings; ends when its reader leaves.
 * @throws whatever a look throws, and the signal's reason
 */
export async function* polled<Body extends { type: string }>(
  client: Pick<Client, 'onWaiting'>,
  { clock, signal, pace = new Pace(clock) }: WatchOptions,
  look: () => AsyncGenerator<Body, void, undefined>,
): AsyncGenerator<Body | WaitingBody, void, undefined> {
  const absence = new Absence(clock);
  for (;;) {
    let moved = false;
    try {
      for await (const body of withWaits(client, clock, look())) {
        moved ||= body.type !== 'rate_limit.waiting';
        yield body;
      }
      absence.over();
    } catch (error) {
      if (!absence.passes(error)) throw error;
    }
    await pace.pause(moved, signal);
  }
}

/**
 * The same look, which is repeated while a service that has answered it before is away for a moment.
 * @throws whatever the look throws, and the signal's reason
 */
export function patient<Seen>(look: () => Promise<Seen>, { clock, signal }: Omit<WatchOptions, 'pace'>): () => Promise<Seen> {
  const absence = new Absence(clock);
  return async () => {
    const pace = new Pace(clock);
    for (;;) {
      try {
        const seen = await look();
        absence.over();
        return seen;
      } catch (error) {
        if (!absence.passes(error)) throw error;
      }
      await pace.pause(false, signal);
    }
  };
}

/** For how long a service has not answered that did before. */
class Absence {
  readonly #clock: Clock;
  #answered: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  over(): void {
    this.#answered = this.#clock.now();
  }

  /** Whether the service may be back in a moment: what was read so far stays read. */
  passes(error: unknown): boolean {
    if (this.#answered === undefined || !(error instanceof AopsError) || error.exit !== exitCodes.unavailable) return false;
    return this.#clock.now() - this.#answered <= longestAbsence;
  }
}
