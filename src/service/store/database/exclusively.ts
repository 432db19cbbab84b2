/** Work that depends on something outside of the database, and that only one process may do at a time. */
import { sql } from 'kysely';
import type { Queries, Store } from './database.ts';
import { isShared, lockName } from './row-locks.ts';

/**
 * Runs `work` while no other process runs work of this name. On a database of several processes it is a transaction, which holds a
 * connection and may wait for a network; the caller makes sure that this process does not run it twice at the same time.
 * @param limit milliseconds for which the work of other processes is waited for, and for which this one may wait for a network
 */
export async function exclusively<Result>(
  store: Store,
  name: string,
  limit: number,
  work: (db: Queries) => Promise<Result>,
): Promise<Result> {
  if (!isShared(store)) return work(store);
  return store.transaction().execute(async (trx) => {
    for (const setting of ['lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout'])
      await sql`select set_config(${setting}, ${String(limit)}, true)`.execute(trx);
    await lockName(trx, name);
    return work(trx);
  });
}
