/**
 * What time it is at the service, whatever the clock here says. Its `Date` belongs to about the middle between sending
 * and receiving, so the quickest exchange tells it best. Kept against steady time: setting the local clock changes nothing.
 */
import { type Clock, steadyTime } from '../../base/clock.ts';
import { httpDate } from './rate-limit.ts';

/** A sample older than this gives way to any new one: clocks drift. Milliseconds. */
const sampleLife = 5 * 60_000;

interface Sample {
  /** Service time minus steady time, in milliseconds. */
  offset: number;
  roundTrip: number;
  takenAt: number;
}

export class ServerClock {
  readonly #clock: Clock;
  #sample: Sample | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether it knows; without, the time of this machine is taken for the service's. */
  get known(): boolean {
    return this.#sample !== undefined;
  }

  /** Milliseconds since the epoch at the service. */
  now(): number {
    return this.at(steadyTime(this.#clock));
  }

  /** The same for a moment of steady time. */
  at(steady: number): number {
    return steady + (this.#sample?.offset ?? this.#clock.now() - steadyTime(this.#clock));
  }

  /** Learns from the `Date` of an answer. Both times are steady. */
  observe(date: string | undefined, sentAt: number, receivedAt: number): void {
    const time = httpDate(date);
    if (time === undefined) return;
    const sample = { offset: time - (sentAt + receivedAt) / 2, roundTrip: receivedAt - sentAt, takenAt: receivedAt };
    const known = this.#sample;
    const better =
      known === undefined ||
      sample.roundTrip <= known.roundTrip ||
      sample.takenAt - known.takenAt > sampleLife ||
      // No delay explains the difference: the service's clock was set, or another machine answered.
      Math.abs(sample.offset - known.offset) > 1_000 + sample.roundTrip + known.roundTrip;
    if (better) this.#sample = sample;
  }

  /** Takes the word of another process, as long as there is no answer to go by. `ahead`: service time minus local time. */
  assume(ahead: number): void {
    const steady = steadyTime(this.#clock);
    this.#sample ??= { offset: this.#clock.now() + ahead - steady, roundTrip: Number.POSITIVE_INFINITY, takenAt: steady };
  }
}
