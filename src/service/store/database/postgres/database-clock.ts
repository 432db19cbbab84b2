/**
 * The time of the database, which all of its nodes share: leases, due times, and expiry times are compared by other nodes than those
 * that have set them. It is the time of the last measurement and what has passed since then. Setting the clock of this machine
 * therefore changes nothing: a node must not believe for a moment that leases of others have ended, or that a job which it queues is
 * due in an hour.
 */
import { sql } from 'kysely';
import { type Clock, steadyTime, systemClock } from '../../../../base/clock.ts';
import type { Queries } from '../database.ts';

/** Milliseconds between two measurements. */
const interval = 30_000;
/** How often a difference is measured; the fastest answer is the most exact one. */
const samples = 3;
/**
 * Milliseconds by which the clock of the machine may run ahead or behind before the time is measured again: while a machine sleeps,
 * only that clock continues.
 */
const maxDivergence = 1_000;
/** The clock never goes back by less than this, in milliseconds: that is not worth the work that follows when a clock was set back. */
const maxStandstill = 1_000;

/** The time of the database at a moment of this process. */
interface Sample {
  time: number;
  steady: number;
  duration: number;
}

export class DatabaseClock implements Clock {
  readonly #db: Queries;
  readonly #machine: Clock;
  #sample: Sample = { time: 0, steady: Number.NEGATIVE_INFINITY, duration: 0 };
  #last = Number.NEGATIVE_INFINITY;
  /** How far the clock of the machine was ahead of the time since its start, when the time was last measured. */
  #lead = 0;
  #isMeasuring = false;

  private constructor(db: Queries, machine: Clock) {
    this.#db = db;
    this.#machine = machine;
  }

  /** @param machine the clock of this machine */
  static async of(db: Queries, machine: Clock = systemClock): Promise<DatabaseClock> {
    const clock = new DatabaseClock(db, machine);
    await clock.#measure();
    return clock;
  }

  now(): number {
    const { time: measuredTime, steady: measuredAt } = this.#sample;
    const elapsed = this.steady() - measuredAt;
    const isDue = elapsed >= interval || Math.abs(this.#currentLead() - this.#lead) > maxDivergence;
    if (isDue && !this.#isMeasuring) this.#measureLater();
    const time = Math.round(measuredTime + elapsed);
    if (time > this.#last || this.#last - time >= maxStandstill) this.#last = time;
    return this.#last;
  }

  steady(): number {
    return steadyTime(this.#machine);
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return this.#machine.sleep(milliseconds, signal);
  }

  #currentLead(): number {
    return this.#machine.now() - this.steady();
  }

  #measureLater(): void {
    this.#isMeasuring = true;
    this.#measure()
      // Without the database, the last measurement is still the best one.
      .catch(() => undefined)
      .finally(() => {
        this.#isMeasuring = false;
      });
  }

  async #measure(): Promise<void> {
    const lead = this.#currentLead();
    let best = await this.#takeSample();
    for (let count = 1; count < samples; count++) {
      const sample = await this.#takeSample();
      if (sample.duration < best.duration) best = sample;
    }
    this.#sample = best;
    this.#lead = lead;
  }

  async #takeSample(): Promise<Sample> {
    const startedAt = this.steady();
    const { rows } = await sql<{ now: number }>`select (extract(epoch from clock_timestamp()) * 1000)::bigint as now`.execute(this.#db);
    const duration = this.steady() - startedAt;
    return { time: (rows[0] as { now: number }).now, steady: startedAt + duration / 2, duration };
  }
}
