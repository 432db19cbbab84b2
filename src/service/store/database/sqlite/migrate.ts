/** Brings a database up to this version: all pending migrations in one transaction, after copying an older file. */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Kysely, type Migration, Migrator, sql } from 'kysely';
import { AopsError, exitCodes } from '../../../../base/errors.ts';
import { migrations as commonMigrations } from '../migrations/index.ts';
import { progressTable } from '../portable/import-progress.ts';
import type { Database } from '../schema.ts';
import { foreignData } from './data-failure.ts';
import { shortSearches } from './short-searches.ts';

/** The migrations of this version: those of all databases, and what only SQLite has. */
export const migrations: Record<string, Migration> = { ...commonMigrations, '0039-short-searches': shortSearches };

/**
 * Applies the pending migrations. An existing file is first copied to `<dataDirectory>/backups`; if a migration fails, nothing has
 * changed. Throws AopsError `data_directory_newer` for a database with unknown migrations, and `data_directory_foreign` for one that
 * has tables but no migrations.
 */
export async function migrate(db: Kysely<Database>, dataDirectory: string, own: Record<string, Migration> = migrations): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => own } });
  await refuseForeign(db, dataDirectory);
  const appliedNames = await appliedMigrations(db);
  const unknown = appliedNames.filter((name) => !(name in own));
  if (unknown.length > 0) throw newerData(dataDirectory, unknown);
  const pending = Object.keys(own).filter((name) => !appliedNames.includes(name));
  if (pending.length === 0) return;
  if (appliedNames.length > 0) await backUp(db, dataDirectory, appliedNames.at(-1) as string);
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
}

export const newerData = (dataDirectory: string, unknown: readonly string[]): AopsError =>
  new AopsError(`The data directory ${dataDirectory} was written by a newer version of aops (it has ${unknown.join(', ')}).`, {
    code: 'data_directory_newer',
    exit: exitCodes.conflict,
    hint: 'Upgrade aops, or choose another data directory.',
  });

/** @throws AopsError `data_directory_foreign` for a database that contains only other tables */
export async function refuseForeign(db: Kysely<Database>, dataDirectory: string): Promise<void> {
  const names = await tableNames(db);
  // This table is created before the first migration.
  if (names.length > 0 && !names.includes('kysely_migration')) throw foreignData(dataDirectory);
}

/** Whether the database contains the beginning of an import. */
export async function hasImportProgress(db: Kysely<Database>): Promise<boolean> {
  const { rows } = await sql`select 1 from sqlite_master where name = ${progressTable}`.execute(db);
  return rows.length > 0;
}

/** @throws AopsError `import_unfinished` for a database into which an import has not been completed */
export async function refuseUnfinishedImport(db: Kysely<Database>, dataDirectory: string): Promise<void> {
  if (!(await hasImportProgress(db))) return;
  throw new AopsError(`${dataDirectory} contains an import that was not finished.`, {
    code: 'import_unfinished',
    exit: exitCodes.conflict,
    hint: 'Continue it by running the same `aops local import` again, or remove it with `aops local reset`.',
  });
}

/** The names of the applied migrations, oldest first; none for an empty file. */
export async function appliedMigrations(db: Kysely<Database>): Promise<string[]> {
  if (!(await tableNames(db)).includes('kysely_migration')) return [];
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db);
  return rows.map((row) => row.name);
}

export async function tableNames(db: Kysely<Database>): Promise<string[]> {
  // Kysely's introspection would also read the columns of each table.
  const tables = sql<{ name: string }>`select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite_%'`;
  // An import begins with the table of its progress.
  return (await tables.execute(db)).rows.map(({ name }) => name).filter((name) => name !== progressTable);
}

async function backUp(db: Kysely<Database>, dataDirectory: string, version: string): Promise<void> {
  const directory = join(dataDirectory, 'backups');
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, `aops-${version}.db`);
  // An earlier attempt at the same migration may have left its copy, which is older than the file.
  await rm(path, { force: true });
  await sql`vacuum into ${path}`.execute(db);
}
