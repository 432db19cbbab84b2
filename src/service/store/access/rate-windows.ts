/** Counts the requests of each caller for all nodes on a database. Only Postgres has this table. */
import { sql } from 'kysely';
import type { Store } from '../database/database.ts';
import { preparedQuery } from '../database/prepared.ts';
import type { RateWindowsTable } from '../database/schema.ts';

/**
 * Milliseconds by which the clocks of nodes differ at most. A count is kept that long after the end of its window. A window that ends
 * later than that after the current one is from before the clock was set back.
 */
const margin = 60_000;

export class RateWindows {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Takes `count` requests of a caller from a limit, in the window that ends at `endsAt` (milliseconds), or in a later one that another
   * node has begun. Resolves to how many have been taken in that window, including these.
   */
  async take(name: string, caller: string, { endsAt, count }: { endsAt: number; count: number }): Promise<number> {
    const { taken } = await takeQuery.only(this.#store, { name, caller, ends_at: endsAt, taken: count });
    return taken;
  }

  /** Removes the counts of windows that are over at `now` (milliseconds). */
  async removeEnded(now: number): Promise<void> {
    await this.#store
      .deleteFrom('rate_windows')
      .where('ends_at', '<', now - margin)
      .execute();
  }
}

const isCurrent = sql<boolean>`rate_windows.ends_at between excluded.ends_at and excluded.ends_at + ${sql.lit(margin)}`;

const takeQuery = preparedQuery((db, row: RateWindowsTable) =>
  db
    .insertInto('rate_windows')
    .values({ name: row.name, caller: row.caller, ends_at: row.ends_at, taken: row.taken })
    .onConflict((conflict) =>
      conflict.columns(['name', 'caller']).doUpdateSet({
        ends_at: sql`case when ${isCurrent} then rate_windows.ends_at else excluded.ends_at end`,
        taken: sql`case when ${isCurrent} then rate_windows.taken else 0 end + excluded.taken`,
      }),
    )
    .returning('taken'),
);
