/**
 * The time at the service, independent of the local clock. A response's `Date` belongs to about the middle between sending
 * and receiving, so the fastest exchange is the most accurate. Based on steady time, so setting the local clock has no effect.
 */
import { type Clock, steadyTime } from '../../base/clock.ts';
import { httpDate } from './rate-limit.ts';

/** A sample older than this is replaced by any new one, because clocks drift. In milliseconds. */
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

  /** Whether the service's time is known; otherwise the time of this machine is used instead. */
  get isKnown(): boolean {
    return this.#sample !== undefined;
  }

  /** Milliseconds since the epoch at the service. */
  now(): number {
    return this.timeAt(steadyTime(this.#clock));
  }

  /** The service's time at a moment of steady time. */
  timeAt(steady: number): number {
    return steady + (this.#sample?.offset ?? this.#clock.now() - steadyTime(this.#clock));
  }

  /** Learns from the `Date` of a response. Both times are steady. */
  observe(date: string | undefined, sentAt: number, receivedAt: number): void {
    const time = httpDate(date);
    if (time === undefined) return;
    const sample = { offset: time - (sentAt + receivedAt) / 2, roundTrip: receivedAt - sentAt, takenAt: receivedAt };
    const current = this.#sample;
    const isBetter =
      current === undefined ||
      sample.roundTrip <= current.roundTrip ||
      sample.takenAt - current.takenAt > sampleLife ||
      // No delay explains the difference: the service's clock was changed, or another machine answered.
      Math.abs(sample.offset - current.offset) > 1_000 + sample.roundTrip + current.roundTrip;
    if (isBetter) this.#sample = sample;
  }

  /** Adopts the offset measured by another process until there is a response. `offset`: service time minus local time. */
  assume(offset: number): void {
    const steady = steadyTime(this.#clock);
    this.#sample ??= { offset: this.#clock.now() + offset - steady, roundTrip: Number.POSITIVE_INFINITY, takenAt: steady };
  }
}
