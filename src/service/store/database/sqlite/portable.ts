/** The database of a data directory as the source or target of an export. */
import { sql } from 'kysely';
import { noData, notEmptyDirectory } from '../../../../base/data-directory.ts';
import type { Queries, Store } from '../database.ts';
import { migrations as commonMigrations } from '../migrations/index.ts';
import { importTarget } from '../portable/import-target.ts';
import {
  type ExportSource,
  type ImportTarget,
  type PortableDatabase,
  shapeOfColumns,
  type TableShape,
} from '../portable/portable-database.ts';
import { sourceSchema } from '../portable/source-schema.ts';
import {
  appliedMigrations,
  hasImportProgress,
  migrate,
  migrations,
  newerData,
  refuseForeign,
  refuseUnfinishedImport,
  tableNames,
} from './migrate.ts';
import { openUnchanged } from './open.ts';

/**
 * Opens the database of a data directory that no service uses. Nothing is migrated.
 * @throws AopsError `data_directory_in_use`, `data_directory_foreign`, `data_directory_newer`, `import_unfinished`, `no_data`
 */
export async function openSource(dataDirectory: string): Promise<ExportSource> {
  const store = await openUnchanged(dataDirectory);
  try {
    await refuseForeign(store, dataDirectory);
    await refuseUnfinishedImport(store, dataDirectory);
    const schema = sourceSchema(
      await appliedMigrations(store),
      { own: migrations, common: commonMigrations },
      { newer: (unknown) => newerData(dataDirectory, unknown), empty: () => noData(dataDirectory) },
    );
    return { ...databaseIn(dataDirectory, store), schema };
  } catch (error) {
    await store.destroy();
    throw error;
  }
}

/**
 * Opens the database in a data directory, which must not exist, be empty, or contain the beginning of an import.
 * @throws AopsError `data_directory_in_use`, `data_directory_not_empty`
 */
export async function openTarget(dataDirectory: string): Promise<ImportTarget> {
  const store = await openUnchanged(dataDirectory);
  if (!(await hasImportProgress(store)) && (await tableNames(store)).length > 0) {
    await store.destroy();
    throw notEmptyDirectory(dataDirectory, 'An import');
  }
  const createTables = async (schema: string): Promise<void> => {
    const known = Object.entries(migrations).filter(([name]) => name <= schema);
    await migrate(store, dataDirectory, Object.fromEntries(known));
  };
  return importTarget(databaseIn(dataDirectory, store), {
    hasProgress: () => hasImportProgress(store),
    // No other process can open the file.
    claim: async () => undefined,
    createTables,
    // The service does this when it starts, after it has copied the database.
    upgrade: async () => undefined,
  });
}

const databaseIn = (dataDirectory: string, store: Store): PortableDatabase => ({
  store,
  shapeOf,
  // No other process can change anything.
  snapshot: (read) => read(store),
  close: () => store.destroy(),
  inWords: dataDirectory,
});

async function shapeOf(db: Queries, table: string): Promise<TableShape | undefined> {
  const { rows } = await sql<{ name: string; type: string; pk: number }>`select name, type, pk from pragma_table_info(${table})`.execute(
    db,
  );
  return shapeOfColumns(
    table,
    rows.map(({ name, type, pk }) => ({ name, keyPosition: pk, isText: type.toLowerCase() === 'text' })),
  );
}
