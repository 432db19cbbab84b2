/**
 * Locks of rows on which a decision depends, until the transaction ends. Transactions of SQLite are serial, so nothing is locked there.
 * On a database that several processes change, everything that reads a row in order to change it, or numbers rows that belong to it,
 * locks it first. Where a transaction locks several rows, it does so in this order: team, run, agent, schedule, queue, case, artifact,
 * builder run, sandbox, each followed by the jobs that are about it, and then the jobs of endpoints. A job locks what it is about, and
 * then its own row. Rows that most transactions change, such as totals, are locked at the end (at-end.ts). Two transactions that wait for
 * each other cost the time until the database notices it, and the work of one of them, which is then executed again.
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
    | 'builder_runs'
    | 'schedules'
    | 'webhook_subscriptions'
    | 'connections'
    | 'jobs'
  );

/** Locks the rows with these IDs, in the order of the IDs. Call it in a transaction, before anything that depends on them is read. */
export async function lockRows(trx: Queries, table: LockedTable, ids: readonly string[]): Promise<void> {
  if (!isShared(trx)) return;
  const sorted = [...new Set(ids)].filter((id) => !holdsLock(trx, table, id)).sort();
  const [first] = sorted;
  if (first !== undefined && sorted.length === 1) await lock.send(trx, { table, id: first });
  else
    for (let start = 0; start < sorted.length; start += chunkSize) {
      const chunk = sorted.slice(start, start + chunkSize);
      await rowsOf(trx, table).where('id', 'in', chunk).orderBy('id').forNoKeyUpdate().execute();
    }
  if (trx.isTransaction) noteLocks(trx, table, sorted);
}

/** Locks a run and its job, in this order, with one statement. If one of them does not exist, neither is locked. */
export async function lockRunAndJob(trx: Queries, runId: string, jobId: string): Promise<void> {
  if (!isShared(trx)) return;
  await lockBoth.send(trx, { runId, jobId });
  noteLocks(trx, 'runs', [runId]);
  noteLocks(trx, 'jobs', [jobId]);
}

// Postgres locks the rows in the order of the tables.
const lockBoth = preparedQuery((db, { runId, jobId }: { runId: string; jobId: string }) =>
  db.selectFrom(['runs', 'jobs']).select('runs.id').where('runs.id', '=', runId).where('jobs.id', '=', jobId).forNoKeyUpdate(),
);

/** Locks a row if that is possible without waiting. Returns whether it is locked. */
export async function lockRowNow(trx: Queries, table: LockedTable, id: string): Promise<boolean> {
  if (!isShared(trx) || holdsLock(trx, table, id)) return true;
  if ((await lockNow.first(trx, { table, id })) === undefined) return false;
  noteLocks(trx, table, [id]);
  return true;
}

/** Another transaction has locked a row that this one must not wait for. It is executed again. */
class RowLockedError extends Error {
  /** Like a transaction that the database has ended in favour of another one (serialization_failure). */
  readonly code = '40001';
}

/** Locks a row for which a transaction must not wait, because it has locked rows that come later in the order. */
export async function lockLateRow(trx: Queries, table: LockedTable, id: string): Promise<void> {
  if (!(await lockRowNow(trx, table, id))) throw new RowLockedError('A row is locked by another transaction.');
}

/** The rows that each transaction, or part of a unit of work, has locked. If a part is taken back, so are its locks. */
const locksOf = new WeakMap<object, Set<string>>();

function noteLocks(trx: Queries, table: LockedTable, ids: readonly string[]): void {
  const executor = trx.getExecutor();
  const locks = locksOf.get(executor) ?? new Set();
  locksOf.set(executor, locks);
  for (const id of ids) locks.add(`${table} ${id}`);
}

/** Whether a transaction has locked a row: what it reads of the row from then on, nobody else can change. */
export const holdsLock = (trx: Queries, table: LockedTable, id: string): boolean =>
  locksOf.get(trx.getExecutor())?.has(`${table} ${id}`) === true;

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

// Rows that refer to the locked one can still be inserted by others.
const lock = preparedQuery(
  (db, { id }: { table: LockedTable; id: string }, { table }) => rowsOf(db, table).where('id', '=', id).forNoKeyUpdate(),
  ({ table }) => table,
);

const lockNow = preparedQuery(
  (db, { id }: { table: LockedTable; id: string }, { table }) => rowsOf(db, table).where('id', '=', id).forNoKeyUpdate().skipLocked(),
  ({ table }) => table,
);
