/**
 * Brings a Postgres database up to this version: all pending migrations in one transaction, one node at a time. Older nodes continue
 * to work, and can start, unless a migration says that they cannot (migrations/compatibility.ts).
 */
import { type Migration, sql } from 'kysely';
import { AopsError, exitCodes, UsageError } from '../../../../base/errors.ts';
import type { Queries } from '../database.ts';
import { canRead, oldestReader } from '../migrations/compatibility.ts';
import { migrations as commonMigrations, oldestReaders } from '../migrations/index.ts';
import { progressTable } from '../portable/import-progress.ts';
import { ownSettings } from '../portable/tables.ts';
import { touchSetting } from '../settings.ts';
import { fileContent } from './file-content.ts';
import { rateWindows } from './rate-windows.ts';
import { runIssues } from './run-issues.ts';
import { searchIndexes, searchOfIds } from './search-indexes.ts';

/** The migrations of this version: those of all databases, with another index for searches of runs and other triggers, and what only several nodes need. */
export const migrations: Record<string, Migration> = {
  ...commonMigrations,
  '0031-run-search': searchIndexes,
  '0033-file-content': fileContent,
  '0036-rate-windows': rateWindows,
  '0037-run-search-ids': searchOfIds,
  '0038-run-issues': runIssues,
};

export interface MigrateOptions {
  /** The migrations of this version. */
  migrations?: Record<string, Migration>;
  /** The oldest version of the schema that a process must know, for the migrations that require one. */
  oldestReaders?: Readonly<Record<string, string>>;
  /** Whether the tables are created in order to import into them. */
  isImport?: boolean;
}

/**
 * Applies the pending migrations. If one fails, nothing has changed.
 * @param db compiles queries with `MigrationCompiler`
 * @throws AopsError `database_newer` for a database that this version cannot read, `database_foreign` for one that has tables but no
 *   migrations, `database_import_unfinished`
 */
export async function migrate(db: Queries, options: MigrateOptions = {}): Promise<void> {
  const own = options.migrations ?? migrations;
  if ((await pendingMigrations(db, own, options.isImport)).length === 0) return;
  await db.transaction().execute(async (trx) => {
    // Other nodes wait here, for as long as it takes, and then find that nothing is pending. The lock ends with the transaction; Kysely's
    // migrator would lock a connection of the pool.
    await sql`set local statement_timeout = 0`.execute(trx);
    await sql`set local lock_timeout = 0`.execute(trx);
    await lockMigrations(trx);
    await sql`create table if not exists kysely_migration (name text primary key, timestamp text not null)`.execute(trx);
    const names = await pendingMigrations(trx, own, options.isImport);
    for (const name of names) {
      await own[name]?.up(trx);
      await sql`insert into kysely_migration (name, timestamp) values (${name}, ${new Date().toISOString()})`.execute(trx);
    }
    if (names.length === 0) return;
    // A newer version may already require more.
    const required = oldestReader(await appliedMigrations(trx, options.isImport), options.oldestReaders ?? oldestReaders);
    const recorded = (await requiredSchema(trx)) ?? '';
    await touchSetting(trx, ownSettings.oldestReader, required > recorded ? required : recorded);
  });
}

/** Lets one process at a time create or change tables, until the transaction ends. */
export async function lockMigrations(trx: Queries): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('aops migrations', 0))`.execute(trx);
}

/** @throws AopsError `database_not_migrated`, `database_newer`, `database_foreign` */
export async function requireMigrated(db: Queries): Promise<void> {
  if ((await pendingMigrations(db, migrations)).length === 0) return;
  throw new AopsError('The database has no tables yet, or those of an older version of aops.', {
    code: 'database_not_migrated',
    exit: exitCodes.conflict,
    hint: 'Start a node of this version first: it creates or migrates the tables.',
  });
}

/** The migrations that have not been applied, in order. */
async function pendingMigrations(db: Queries, own: Record<string, Migration>, isImport = false): Promise<string[]> {
  const appliedNames = await appliedMigrations(db, isImport);
  const unknown = appliedNames.filter((name) => !(name in own));
  const ownNames = Object.keys(own).sort();
  // Another program that uses the same library.
  if (unknown.length > 0 && unknown.length === appliedNames.length) throw foreignDatabase();
  // A newer version has migrated the database. This one continues to work with it if the newer one permits it.
  if (unknown.length > 0 && !canRead(ownNames, await requiredSchema(db))) throw newerDatabase(unknown);
  return ownNames.filter((name) => !appliedNames.includes(name));
}

/** The oldest schema that a process must know to use the database; undefined if it was not recorded. */
async function requiredSchema(db: Queries): Promise<string | undefined> {
  const row = await db.selectFrom('settings').select('value').where('name', '=', ownSettings.oldestReader).executeTakeFirst();
  return row?.value;
}

/** The names of the applied migrations, oldest first; none for a database without tables. */
export async function appliedMigrations(db: Queries, isImport = false): Promise<string[]> {
  const names = await tableNames(db);
  if (names.includes(progressTable) && !isImport) throw unfinishedImport();
  if (names.every((name) => name === progressTable)) return [];
  // This table is created before the first migration.
  if (!names.includes('kysely_migration')) throw foreignDatabase();
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db);
  return rows.map(({ name }) => name);
}

export async function tableNames(db: Queries): Promise<string[]> {
  // Extensions, such as pg_stat_statements, may have tables of their own.
  const tables = await sql<{ name: string }>`select relname as name from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
    and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e')`.execute(db);
  return tables.rows.map(({ name }) => name);
}

const foreignDatabase = (): AopsError =>
  new UsageError(
    'The database contains tables that are not those of aops. Nothing was changed.',
    'Create a database for aops alone, for example with `createdb aops`, and put its name into the URL.',
    'database_foreign',
  );

export const newerDatabase = (unknown: readonly string[]): AopsError =>
  new AopsError(`The database was written by a newer version of aops (it has ${unknown.join(', ')}).`, {
    code: 'database_newer',
    exit: exitCodes.conflict,
    hint: 'Upgrade aops on this machine, or use another database.',
  });

const unfinishedImport = (): AopsError =>
  new AopsError('The database contains an import that was not finished.', {
    code: 'database_import_unfinished',
    exit: exitCodes.conflict,
    hint: 'Continue it by running the same `aops local import` again, or use another database.',
  });

export const noTables = (): AopsError =>
  new AopsError('The database does not contain the data of a service.', {
    code: 'no_data',
    exit: exitCodes.notFound,
    hint: 'Check the URL of the database.',
  });
