/** The table that a database has while rows are imported into it. It contains one row, and is dropped at the end. */
import { sql } from 'kysely';
import type { Queries } from '../database.ts';
import type { ImportProgress } from './portable-database.ts';

export const progressTable = 'import_progress';

export async function createProgress(db: Queries, exportDigest: string): Promise<void> {
  await sql`create table import_progress (export text not null, table_name text not null, bytes bigint not null, rows bigint not null)`.execute(
    db,
  );
  await sql`insert into import_progress values (${exportDigest}, '', 0, 0)`.execute(db);
}

export async function readProgress(db: Queries): Promise<ImportProgress | undefined> {
  const { rows } = await sql<ImportProgress>`select export, table_name as "table", bytes, rows from import_progress`.execute(db);
  return rows[0];
}

/** Records how far the import of a table has come, in the transaction that imports its rows. */
export async function writeProgress(db: Queries, { table, bytes, rows }: Omit<ImportProgress, 'export'>): Promise<void> {
  await sql`update import_progress set table_name = ${table}, bytes = ${bytes}, rows = ${rows}`.execute(db);
}

export async function dropProgress(db: Queries): Promise<void> {
  await sql`drop table import_progress`.execute(db);
}
