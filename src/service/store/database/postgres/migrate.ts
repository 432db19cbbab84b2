/** Brings a Postgres database up to this version: all pending migrations in one transaction, one node at a time. */
import { type Kysely, type Migration, Migrator, sql } from 'kysely';
import { AopsError, exitCodes, UsageError } from '../../../../base/errors.ts';
import { migrations as commonMigrations } from '../migrations/index.ts';
import type { Database } from '../schema.ts';
import { searchIndexes } from './search-indexes.ts';

/** The migrations of this version. Only the index for searches of runs is a different one. */
export const migrations: Record<string, Migration> = { ...commonMigrations, '0031-run-search': searchIndexes };

/**
 * Applies the pending migrations. If one fails, nothing has changed.
 * @param db compiles queries with `MigrationCompiler`
 * @throws AopsError `database_newer` for a database with unknown migrations, `database_foreign` for one that has tables but no migrations
 */
export async function migrate(db: Kysely<Database>, ownMigrations: Record<string, Migration> = migrations): Promise<void> {
  const appliedNames = await appliedMigrations(db);
  const unknown = appliedNames.filter((name) => !(name in ownMigrations));
  if (unknown.length > 0) throw newerDatabase(unknown);
  if (Object.keys(ownMigrations).every((name) => appliedNames.includes(name))) return;
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ownMigrations } });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
}

/** The names of the applied migrations, oldest first; none for a database without tables. */
async function appliedMigrations(db: Kysely<Database>): Promise<string[]> {
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
