/** Brings a Postgres database up to this version: all pending migrations in one transaction, one node at a time. */
import { type Migration, sql } from 'kysely';
import { AopsError, exitCodes, UsageError } from '../../../../base/errors.ts';
import type { Queries } from '../database.ts';
import { migrations as commonMigrations } from '../migrations/index.ts';
import { searchIndexes } from './search-indexes.ts';

/** The migrations of this version. Only the index for searches of runs is a different one. */
export const migrations: Record<string, Migration> = { ...commonMigrations, '0031-run-search': searchIndexes };

/**
 * Applies the pending migrations. If one fails, nothing has changed.
 * @param db compiles queries with `MigrationCompiler`
 * @throws AopsError `database_newer` for a database with unknown migrations, `database_foreign` for one that has tables but no migrations
 */
export async function migrate(db: Queries, ownMigrations: Record<string, Migration> = migrations): Promise<void> {
  if ((await pendingMigrations(db, ownMigrations)).length === 0) return;
  await db.transaction().execute(async (trx) => {
    // Other nodes wait here, for as long as it takes, and then find that nothing is pending. The lock ends with the transaction; Kysely's
    // migrator would lock a connection of the pool.
    await sql`set local statement_timeout = 0`.execute(trx);
    await sql`set local lock_timeout = 0`.execute(trx);
    await sql`select pg_advisory_xact_lock(hashtextextended('aops migrations', 0))`.execute(trx);
    await sql`create table if not exists kysely_migration (name text primary key, timestamp text not null)`.execute(trx);
    for (const name of await pendingMigrations(trx, ownMigrations)) {
      await ownMigrations[name]?.up(trx);
      await sql`insert into kysely_migration (name, timestamp) values (${name}, ${new Date().toISOString()})`.execute(trx);
    }
  });
}

/** The migrations that have not been applied, in order. */
async function pendingMigrations(db: Queries, ownMigrations: Record<string, Migration>): Promise<string[]> {
  const appliedNames = await appliedMigrations(db);
  const unknown = appliedNames.filter((name) => !(name in ownMigrations));
  if (unknown.length > 0) throw newerDatabase(unknown);
  return Object.keys(ownMigrations)
    .sort()
    .filter((name) => !appliedNames.includes(name));
}

/** The names of the applied migrations, oldest first; none for a database without tables. */
async function appliedMigrations(db: Queries): Promise<string[]> {
  const tables = await sql<{ name: string }>`select table_name as name from information_schema.tables
    where table_schema = current_schema()`.execute(db);
  const names = tables.rows.map(({ name }) => name);
  if (names.length === 0) return [];
  // This table is created before the first migration.
  if (!names.includes('kysely_migration')) throw foreignDatabase();
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db);
  return rows.map(({ name }) => name);
}

const foreignDatabase = (): AopsError =>
  new UsageError(
    'The database contains tables that are not those of aops. Nothing was changed.',
    'Create a database for aops alone, for example with `createdb aops`, and put its name into the URL.',
    'database_foreign',
  );

const newerDatabase = (unknown: readonly string[]): AopsError =>
  new AopsError(`The database was written by a newer version of aops (it has ${unknown.join(', ')}).`, {
    code: 'database_newer',
    exit: exitCodes.conflict,
    hint: 'Upgrade aops on this machine, or use another database.',
  });
