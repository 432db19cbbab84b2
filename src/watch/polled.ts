/** Following something: by its stream of events where there is one, otherwise by polling, through short absences of the service. */
import type { Clock } from '../base/clock.ts';
import type { Client } from '../client/client.ts';
import type { Input, JsonOperationId, Response } from '../interface/types.ts';
import { Absence, type Outage } from './absence.ts';
import type { WaitingBody } from './events.ts';
import { isNearlyUsedUp, Pace } from './pace.ts';
import { waiting, withWaits } from './rate-limit-waits.ts';
import type { Streamed } from './streamed.ts';

export interface WatchOptions {
  clock: Clock;
  signal: AbortSignal;
  /** How often to poll; whoever holds it may hurry the next look. */
  pace?: Pace;
  /** Is told once when the service cannot be reached, and once with undefined when it answers again. */
  onOutage?: (outage: Outage | undefined) => void;
  /** Whether to go on however long the service is away: somebody here is writing an answer for it. */
  endures?: () => boolean;
}

/** Calls an operation as part of polling: it is tried once, and counts towards the pace unless it only catches up with what is there. */
export type Call = <Id extends JsonOperationId>(id: Id, input: Input<Id>, options?: { catchesUp?: boolean }) => Promise<Response<Id>>;

/**
 * What a stream brings, or one look after the other; ends when its reader leaves.
 * @throws whatever a look throws, and the signal's reason
 */
export async function* polled<Body extends { type: string }>(
  client: Pick<Client, 'onWaiting' | 'call' | 'allowance'>,
  { clock, signal, pace = new Pace(clock), onOutage, endures }: WatchOptions,
  look: (call: Call, pace: Pick<Pace, 'isQuick'>) => AsyncGenerator<Body, void, undefined>,
  stream?: Streamed<Body>,
): AsyncGenerator<Body | WaitingBody, void, undefined> {
  const absence = new Absence(clock, onOutage, endures);
  const call = callAtPace(client, pace, signal);
  const answered = (): void => {
    if (absence.over()) stream?.retry();
  };
  for (;;) {
    if (stream?.wait === 0) {
      yield* withWaits(
        client,
        clock,
        stream.read(signal, () => absence.over()),
      );
    }
    let moved = false;
    try {
      for await (const body of withWaits(client, clock, look(call, pace))) {
        // What a look has found is not undone by its failure.
        if (body.type !== 'rate_limit.waiting') {
          moved = true;
          answered();
        }
        yield body;
      }
      answered();
    } catch (error) {
      if (!absence.passes(error)) throw error;
    }
    const { allowance } = client;
    if (allowance !== undefined && isNearlyUsedUp(allowance)) yield waiting(clock, allowance.milliseconds);
    await pace.pause(moved, signal, allowance);
  }
}

/** Calls of operations that poll at a pace, ended by the signal. */
export const callAtPace =
  (client: Pick<Client, 'call'>, pace: Pace, signal: AbortSignal): Call =>
  (id, input, { catchesUp = false } = {}) => {
    if (!catchesUp) pace.spend();
    return client.call(id, input, { signal, once: true });
  };

/**
 * The same look, which is repeated while the service is away for a moment.
 * @throws whatever the look throws, and the signal's reason
 */
export function patient<Seen>(
  look: () => Promise<Seen>,
  { clock, signal, onOutage }: Pick<WatchOptions, 'clock' | 'signal' | 'onOutage'>,
): () => Promise<Seen> {
  const absence = new Absence(clock, onOutage);
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
