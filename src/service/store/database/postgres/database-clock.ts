/**
 * The time of the database, which all of its nodes share: leases, due times, and expiry times are compared by other nodes than those
 * that have set them. It is the clock of this machine with the measured difference.
 */
import { sql } from 'kysely';
import { type Clock, steadyTime, systemClock } from '../../../../base/clock.ts';
import type { Queries } from '../database.ts';

/** Milliseconds between two measurements. */
const interval = 30_000;

export class DatabaseClock implements Clock {
  readonly #db: Queries;
  #offset = 0;
  #measuredAt = Number.NEGATIVE_INFINITY;
  #isMeasuring = false;

  private constructor(db: Queries) {
    this.#db = db;
  }

  static async of(db: Queries): Promise<DatabaseClock> {
    const clock = new DatabaseClock(db);
    await clock.#measure();
    return clock;
  }

  now(): number {
    if (!this.#isMeasuring && this.steady() - this.#measuredAt >= interval) {
      this.#isMeasuring = true;
      // Without the database, the last difference is still the best known.
      this.#measure()
        .catch(() => undefined)
        .finally(() => {
          this.#isMeasuring = false;
        });
    }
    return Math.round(systemClock.now() + this.#offset);
  }

  steady(): number {
    return steadyTime(systemClock);
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return systemClock.sleep(milliseconds, signal);
  }

  async #measure(): Promise<void> {
    const before = systemClock.now();
    const { rows } = await sql<{ now: number }>`select (extract(epoch from clock_timestamp()) * 1000)::bigint as now`.execute(this.#db);
    const after = systemClock.now();
    this.#offset = (rows[0]?.now ?? before) - (before + after) / 2;
    this.#measuredAt = this.steady();
  }
}
