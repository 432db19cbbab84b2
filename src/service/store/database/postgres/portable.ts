/** A Postgres database as the source or target of an export. */
import { sql } from 'kysely';
import { AopsError, exitCodes } from '../../../../base/errors.ts';
import type { Queries, Store } from '../database.ts';
import { migrations as commonMigrations } from '../migrations/index.ts';
import { progressTable } from '../portable/import-progress.ts';
import { importTarget } from '../portable/import-target.ts';
import {
  type ExportSource,
  type ImportTarget,
  type PortableDatabase,
  shapeOfColumns,
  type TableShape,
} from '../portable/portable-database.ts';
import { sourceSchema } from '../portable/source-schema.ts';
import { databaseAddress } from './address.ts';
import type { ConnectionOptions } from './connections.ts';
import { refuseConnectedNodes, refuseLiveNodes } from './live-nodes.ts';
import { appliedMigrations, lockMigrations, migrate, migrations, newerDatabase, noTables, tableNames } from './migrate.ts';
import { holdMove, type Move, withoutTimeLimits } from './moving-locks.ts';
import { openUnmigrated, type UnmigratedDatabase } from './open.ts';

/** Connections that an export or import uses: one holds the lock. */
const maxConnections = 4;

/**
 * Opens a database that no node uses, and prevents nodes from starting. Nothing is migrated.
 * @throws AopsError what `openPostgres` does, `export_running`, `nodes_running`, `database_not_migrated`
 */
export const openSource = (options: ConnectionOptions): Promise<ExportSource> =>
  open(options, 'export', async ({ store, migrator }, database) => {
    const applied = await appliedMigrations(migrator);
    const schema = sourceSchema(applied, { own: migrations, common: commonMigrations }, { newer: newerDatabase, empty: noTables });
    await refuseLiveNodes(store, options.instanceId);
    return { ...database, schema };
  });

/**
 * Opens a database to import into. It must be empty, or contain the beginning of an import.
 * @throws AopsError what `openPostgres` does, `nodes_running`, `import_running`, `database_not_empty`
 */
export const openTarget = (options: ConnectionOptions): Promise<ImportTarget> =>
  open(options, 'import', async ({ store, migrator }, database) => {
    const names = await tableNames(migrator);
    if (names.length > 0 && !names.includes(progressTable)) throw notEmpty();
    // No node holds the jobs that were imported.
    await refuseConnectedNodes(store, options.instanceId);
    return importTarget(database, {
      hasProgress: async () => (await tableNames(migrator)).includes(progressTable),
      // A node that starts at the same moment waits for this lock, and then finds the beginning of the import.
      async claim(trx) {
        await lockMigrations(trx);
        if ((await tableNames(trx)).length > 0) throw notEmpty();
      },
      async createTables(schema) {
        // What only Postgres has is not part of an export.
        const known = Object.entries(migrations).filter(([name]) => name <= schema || !(name in commonMigrations));
        await migrate(migrator, { migrations: Object.fromEntries(known), isImport: true });
      },
      upgrade: () => migrate(migrator, { isImport: true }),
    });
  });

/** Opens a database for a command that works on it alone. */
async function open<Opened>(
  options: ConnectionOptions,
  move: Move,
  use: (opened: UnmigratedDatabase, database: PortableDatabase) => Promise<Opened>,
): Promise<Opened> {
  const opened = await openUnmigrated({ maxConnections, ...options });
  const { store } = opened;
  let unlock: () => Promise<void> = async () => undefined;
  const close = async (): Promise<void> => {
    await unlock();
    await store.destroy();
  };
  try {
    unlock = await holdMove(store, move);
    return await use(opened, { store, shapeOf, snapshot: snapshotOf(store), close, inWords: databaseAddress(options.url).inWords });
  } catch (error) {
    await close();
    throw error;
  }
}

const snapshotOf =
  (store: Store): PortableDatabase['snapshot'] =>
  (read) =>
    store.transaction().execute(async (trx) => {
      await sql`set transaction isolation level repeatable read, read only`.execute(trx);
      await withoutTimeLimits(trx);
      return read(trx);
    });

async function shapeOf(db: Queries, table: string): Promise<TableShape | undefined> {
  const { rows } = await sql<{ name: string; type: string; position: number }>`
    select columns.column_name as name, columns.data_type as type, coalesce(keys.ordinal_position, 0) as position
    from information_schema.columns as columns
    left join information_schema.table_constraints as constraints
      on constraints.table_schema = columns.table_schema and constraints.table_name = columns.table_name
      and constraints.constraint_type = 'PRIMARY KEY'
    left join information_schema.key_column_usage as keys
      on keys.constraint_schema = constraints.constraint_schema and keys.constraint_name = constraints.constraint_name
      and keys.table_name = columns.table_name and keys.column_name = columns.column_name
    where columns.table_schema = current_schema() and columns.table_name = ${table}`.execute(db);
  return shapeOfColumns(
    table,
    rows.map(({ name, type, position }) => ({ name, keyPosition: Number(position), isText: type === 'text' })),
  );
}

const notEmpty = (): AopsError =>
  new AopsError('The database is not empty. An import never overwrites data.', {
    code: 'database_not_empty',
    exit: exitCodes.conflict,
    hint: 'Create a new database, for example with `createdb aops`, and import into that one before a node starts on it.',
  });
