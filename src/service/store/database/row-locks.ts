/**
 * Locks of rows on which a decision depends, until the transaction ends. Transactions of SQLite are serial, so nothing is locked there.
 * On a database that several processes change, everything that reads a row in order to change it, or numbers rows that belong to it,
 * locks it first. Where a transaction locks several rows, it does so in this order if it can: team, agent, run, queue, case, artifact, job,
 * sandbox; of jobs, first its own, then that of a queue, then those of endpoints. Rows that most transactions change, such as totals, are
 * locked at the end (at-end.ts). A transaction that meets another one in the opposite order is repeated.
 */
import { type DialectAdapter, sql } from 'kysely';
import type { Queries } from './database.ts';
import { preparedQuery } from './prepared.ts';
import type { Database } from './schema.ts';

/** The adapter of a database that other processes change at the same time. */
export interface SharedAdapter extends DialectAdapter {
  readonly isShared: true;
}

/** Whether other processes change the database at the same time, and queries do not delay this process. */
export const isShared = (db: Queries): boolean => (db.getExecutor().adapter as Partial<SharedAdapter>).isShared === true;

/** Tables whose rows can be locked by their ID. */
export type LockedTable = keyof Database &
  (
    | 'teams'
    | 'agents'
    | 'queues'
    | 'cases'
    | 'runs'
    | 'sandboxes'
    | 'artifacts'
    | 'sandboxes'
    | 'builder_runs'
    | 'schedules'
    | 'webhook_subscriptions'
    | 'connections'
    | 'jobs'
  );

/** Locks the rows with these IDs, in the order of the IDs. Call it in a transaction, before anything that depends on them is read. */
export async function lockRows(trx: Queries, table: LockedTable, ids: readonly string[]): Promise<void> {
  if (!isShared(trx)) return;
  const sorted = [...new Set(ids)].sort();
  const [first] = sorted;
  if (first !== undefined && sorted.length === 1) return lock.send(trx, { table, id: first });
  for (let start = 0; start < sorted.length; start += chunkSize) {
    const chunk = sorted.slice(start, start + chunkSize);
    await rowsOf(trx, table).where('id', 'in', chunk).orderBy('id').forNoKeyUpdate().execute();
  }
}

/** Ensures that nobody changes a row until the transaction ends. Others can do so at the same time, unlike with `lockRows`. */
export async function shareRow(trx: Queries, table: LockedTable, id: string): Promise<void> {
  if (isShared(trx)) await share.send(trx, { table, id });
}

/** How many rows one statement locks: the number of its parameters is limited. */
const chunkSize = 500;

/** Waits until no other transaction has locked this name, and locks it until the transaction ends. Nothing for SQLite, see above. */
export async function lockName(trx: Queries, name: string): Promise<void> {
  if (isShared(trx)) await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(trx);
}

/**
 * Locks a row that is about to be read, if that is part of a transaction: what a transaction reads on its own is what it decides on.
 */
export async function lockIfDeciding(db: Queries, table: LockedTable, id: string): Promise<void> {
  if (db.isTransaction) await lockRows(db, table, [id]);
}

const rowsOf = (db: Queries, table: LockedTable) => db.selectFrom(table as 'runs').select('id');

const share = preparedQuery(
  (db, { id }: { table: LockedTable; id: string }, { table }) => rowsOf(db, table).where('id', '=', id).forShare(),
  ({ table }) => table,
);

// Rows that refer to the locked one can still be inserted by others.
const lock = preparedQuery(
  (db, { id }: { table: LockedTable; id: string }, { table }) => rowsOf(db, table).where('id', '=', id).forNoKeyUpdate(),
  ({ table }) => table,
);
