/** Watches something: by its event stream if there is one, otherwise by polling, and through short outages of the service. */
import type { Clock } from '../base/clock.ts';
import type { Client } from '../client/client.ts';
import type { Input, JsonOperationId, Response } from '../interface/types.ts';
import type { WaitingBody } from './events.ts';
import { type OutageReport, OutageTracker } from './outage-tracker.ts';
import { isNearlyUsedUp, Pace, type Pacing } from './pace.ts';
import { rateLimitWaiting, withWaits } from './rate-limit-waits.ts';
import type { RetryingStream } from './streamed.ts';

export interface WatchOptions {
  clock: Clock;
  signal: AbortSignal;
  /** How often to poll; callers can use it to hurry the next poll. */
  pace?: Pacing;
  /** Called once when the service cannot be reached, and once with undefined when it answers again. */
  onOutage?: OutageReport;
  /** Whether to continue however long the outage lasts, because somebody is writing an answer here. */
  waitsIndefinitely?: () => boolean;
}

export interface StreamChoice<Body> {
  stream: RetryingStream<Body>;
  /** Whether to poll once before the stream is opened, because the stream begins with events from before the wanted position. */
  pollsFirst: boolean;
}

/** Calls an operation as part of polling: it is tried once, waits for the pace, and counts towards it. */
export type Call = <Id extends JsonOperationId>(id: Id, input: Input<Id>, options?: { catchesUp?: boolean }) => Promise<Response<Id>>;

/**
 * The events of a stream, or of one poll after the other; ends when its reader stops.
 * @throws whatever a poll throws, and the signal's reason
 */
export async function* pollEvents<Body extends { type: string }>(
  client: Pick<Client, 'onWaiting' | 'call' | 'allowance'>,
  { clock, signal, pace = new Pace(clock), onOutage, waitsIndefinitely }: WatchOptions,
  poll: (call: Call, pace: Pick<Pacing, 'isQuick'>) => AsyncGenerator<Body, void, undefined>,
  { stream, pollsFirst }: Partial<StreamChoice<Body>> = {},
): AsyncGenerator<Body | WaitingBody, void, undefined> {
  const outages = new OutageTracker(clock, onOutage, waitsIndefinitely);
  const call = callAtPace(client, pace, signal);
  const onAnswer = (): void => {
    if (outages.recordAnswer()) stream?.retry();
  };
  for (let isFirst = true; ; isFirst = false) {
    if (stream?.wait === 0 && !(isFirst && pollsFirst)) {
      yield* withWaits(
        client,
        clock,
        stream.read(signal, () => outages.recordAnswer()),
      );
    }
    let hasNews = false;
    try {
      for await (const body of withWaits(client, clock, poll(call, pace))) {
        // Events that a poll has found count even if it fails later.
        if (body.type !== 'rate_limit.waiting') {
          hasNews = true;
          onAnswer();
        }
        yield body;
      }
      onAnswer();
    } catch (error) {
      if (!outages.tolerates(error)) throw outages.describeEnd(error);
    }
    if (isFirst && pollsFirst && stream?.wait === 0) continue;
    const { allowance } = client;
    if (allowance !== undefined && isNearlyUsedUp(allowance)) yield rateLimitWaiting(clock, allowance.milliseconds);
    await pace.pause(hasNews, signal, allowance);
  }
}

/** Calls operations for polling at a pace, until the signal is aborted. */
export const callAtPace =
  (client: Pick<Client, 'call'>, pace: Pick<Pacing, 'spend'>, signal: AbortSignal): Call =>
  async (id, input, { catchesUp = false } = {}) => {
    await pace.spend(signal, catchesUp);
    return client.call(id, input, { signal, once: true });
  };

/**
 * The same poll, repeated during short outages of the service.
 * @throws whatever the poll throws, and the signal's reason
 */
export function retryThroughOutages<Result>(
  poll: () => Promise<Result>,
  { clock, signal, onOutage, waitsIndefinitely }: Pick<WatchOptions, 'clock' | 'signal' | 'onOutage' | 'waitsIndefinitely'>,
): () => Promise<Result> {
  const outages = new OutageTracker(clock, onOutage, waitsIndefinitely);
  return async () => {
    const pace = new Pace(clock);
    for (;;) {
      try {
        const result = await poll();
        outages.recordAnswer();
        return result;
      } catch (error) {
        if (!outages.tolerates(error)) throw outages.describeEnd(error);
      }
      await pace.pause(false, signal);
    }
  };
}
