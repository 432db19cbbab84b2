/** Stores on a Postgres database of their own. */

import { sql } from 'kysely';
import type { Queries, Store } from '../../../src/service/store/database/database.ts';
import { openPostgres } from '../../../src/service/store/database/postgres/open.ts';
import { newDatabase } from '../../support/postgres.ts';
import { afterTest } from '../../support/temporary.ts';

/** A store on a database, as one node has it; closed after the test. */
export async function openNode(url: string, instanceId = 'node', maxConnections?: number): Promise<Store> {
  const store = await openPostgres({ url, instanceId, maxConnections });
  afterTest(() => store.destroy());
  return store;
}

/** Several nodes on one new database. */
export async function openNodes(...instanceIds: string[]): Promise<Store[]> {
  const url = await newDatabase();
  return Promise.all(instanceIds.map((id) => openNode(url, id)));
}

/**
 * Whether a statement of the database is waiting for a lock of a row or a name. Commits with notifications wait for each other for a
 * moment, whatever their database is.
 */
export async function isLockWaitedFor(db: Queries): Promise<boolean> {
  const { rows } = await sql`
    select 1 from pg_stat_activity
    where wait_event_type = 'Lock' and wait_event in ('transactionid', 'tuple', 'advisory') and datname = current_database()
  `.execute(db);
  return rows.length > 0;
}
