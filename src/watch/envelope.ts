/** The form of every event that is printed as NDJSON: the envelope is the same for all streams, and `type` determines `data`. */
import type { Clock } from '../base/clock.ts';

export interface Envelope {
  /** The version of the form of events; see schemas/printed-events.ts. */
  v: 1;
  /** Counts from 1 in a stream, and continues when the stream is resumed. */
  seq: number;
  type: string;
  /** When it was observed, ISO 8601. */
  ts: string;
  data: object;
  /** The token that resumes the stream after this event; null for an event that is not printed, but only notified of. */
  resume: string | null;
}

export const envelopeMembers: readonly (keyof Envelope)[] = ['v', 'seq', 'type', 'ts', 'data', 'resume'];

/** The members that name what the events of a stream are about. */
export const subjectMembers = ['run_id', 'builder_run_id', 'artifact_id'] as const;

/** An event in its envelope. @param Subject names what the event is about, such as `run_id` */
export type Enveloped<Payloads, Subject, Resume extends string | null = string | null> = {
  [Type in keyof Payloads]: { v: 1; seq: number; type: Type } & Subject & { ts: string; data: Payloads[Type]; resume: Resume };
}[keyof Payloads];

/** Numbers the events of one stream. */
export class EventSequence {
  readonly #clock: Clock;
  #seq: number;

  /** @param seq the number of the last event before this stream was resumed */
  constructor(clock: Clock, seq = 0) {
    this.#clock = clock;
    this.#seq = seq;
  }

  /** Continues with the number after this one. */
  continueAfter(seq: number): void {
    this.#seq = seq;
  }

  /**
   * The next event of the stream. Its type follows from the caller's.
   * @param subject names what the event is about, such as `{ run_id }`
   * @param resume returns the token for the position after the event with this number; undefined if the stream cannot be resumed
   */
  next<Event>(body: { type: string; data: object }, subject: object, resume?: (seq: number) => string): Event {
    this.#seq += 1;
    const ts = new Date(this.#clock.now()).toISOString();
    const { type, data } = body;
    return { v: 1, seq: this.#seq, type, ...subject, ts, data, resume: resume?.(this.#seq) ?? null } as Event;
  }
}

/** An event without its envelope, and the position after it. */
export type Positioned<Body, Position> = Body & { position: Position };

/**
 * Puts events into their envelopes. Events without a position, such as waits for the rate limit, keep that of the event before.
 * @param subject names what the events are about
 * @param start the position before the first event
 * @param tokenOf the token for a position and the number of an event
 */
export async function* enveloped<Event, Position>(
  bodies: AsyncIterable<{ type: string; data: object; position?: Position }>,
  { sequence, subject, start, tokenOf }: EnvelopeParts<Position>,
): AsyncGenerator<Event, void, undefined> {
  let position = start;
  for await (const body of bodies) {
    position = body.position ?? position;
    const current = position;
    yield sequence.next<Event>(body, subject, (seq) => tokenOf(current, seq));
  }
}

interface EnvelopeParts<Position> {
  sequence: EventSequence;
  subject: object;
  start: Position;
  tokenOf: (position: Position, seq: number) => string;
}
