/**
 * The time of the database, which all of its nodes share: leases, due times, and expiry times are compared by other nodes than those
 * that have set them. It is the clock of this machine with the measured difference.
 */
import { sql } from 'kysely';
import { type Clock, steadyTime, systemClock } from '../../../../base/clock.ts';
import type { Queries } from '../database.ts';

/** Milliseconds between two measurements. */
const interval = 30_000;
/** How often a difference is measured; the fastest answer is the most exact one. */
const samples = 3;
/** The clock never goes back by less than this, in milliseconds: that is not worth the work that follows when a clock was set back. */
const maxStandstill = 1_000;

interface Sample {
  difference: number;
  duration: number;
}

export class DatabaseClock implements Clock {
  readonly #db: Queries;
  readonly #machine: Clock;
  #difference = 0;
  #last = Number.NEGATIVE_INFINITY;
  #measuredAt = Number.NEGATIVE_INFINITY;
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
    if (!this.#isMeasuring && this.steady() - this.#measuredAt >= interval) this.#measureLater();
    const time = Math.round(this.#machine.now() + this.#difference);
    if (time > this.#last || this.#last - time >= maxStandstill) this.#last = time;
    return this.#last;
  }

  steady(): number {
    return steadyTime(this.#machine);
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return this.#machine.sleep(milliseconds, signal);
  }

  #measureLater(): void {
    this.#isMeasuring = true;
    this.#measure()
      // Without the database, the last difference is still the best known.
      .catch(() => undefined)
      .finally(() => {
        this.#isMeasuring = false;
      });
  }

  async #measure(): Promise<void> {
    let best = await this.#sample();
    for (let count = 1; count < samples; count++) {
      const sample = await this.#sample();
      if (sample.duration < best.duration) best = sample;
    }
    this.#difference = best.difference;
    this.#measuredAt = this.steady();
  }

  async #sample(): Promise<Sample> {
    const startedAt = this.steady();
    const before = this.#machine.now();
    const { rows } = await sql<{ now: number }>`select (extract(epoch from clock_timestamp()) * 1000)::bigint as now`.execute(this.#db);
    const duration = this.steady() - startedAt;
    return { difference: (rows[0]?.now ?? before) - (before + duration / 2), duration };
  }
}
