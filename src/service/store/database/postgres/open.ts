/** Opens a Postgres database that several nodes can use at the same time. */
import type { ConnectionOptions as TlsOptions } from 'node:tls';
import type pg from 'pg';
import { KeyedSlots } from '../../../../base/slots.ts';
import { Changes } from '../changes.ts';
import type { DatabaseConnections } from '../connections.ts';
import type { Store } from '../database.ts';
import { createStore, type StoreParts } from '../execution/create-store.ts';
import { driverOf, storeAccess } from '../execution/drivers.ts';
import { type DatabaseAddress, databaseAddress } from './address.ts';
import { type ConnectionOptions, clientConfig, createPool, defaultConnections } from './connections.ts';
import { MigrationCompiler, postgresDialect } from './dialect.ts';
import { type MigrateOptions, migrate, requireMigrated } from './migrate.ts';
import { requireNodeName } from './node-name.ts';
import { Notifications } from './notifications.ts';
import { isWithoutTls, openingFailure } from './refusals.ts';
import { checkServer, requireConnections } from './server-check.ts';
import { type OpenTransaction, PostgresTransactions } from './transactions.ts';

/** How many of the connections slow reads of one team use at most (`Store.readSlowly`). */
const maxSlowShare = 0.2;

export interface OpenOptions extends ConnectionOptions {
  /** Whether the tables must exist already, in this version, instead of being created or migrated. */
  requireTables?: boolean | undefined;
  /** Whether no other node that is alive may have the name. */
  hasOwnName?: boolean | undefined;
  /** What this version knows about the tables. Only tests specify it. */
  schema?: MigrateOptions;
}

/** An open database, and what is known about the connections to it. */
export interface PostgresDatabase {
  readonly store: Store;
  readonly connections: DatabaseConnections;
}

/** Like `connectPostgres`, for those who only need the store. */
export const openPostgres = async (options: OpenOptions): Promise<Store> => (await connectPostgres(options)).store;

/**
 * Opens a database, and creates or migrates its tables.
 * Throws AopsError `database_url_invalid`, `database_unreachable`, `database_tls_failed`, `database_access_denied`, `database_missing`,
 * `database_unsuitable`, `database_pooler_unsuitable`, `database_connections_too_few`, `database_newer`, `database_foreign`,
 * `database_import_unfinished`, `node_name_taken`, or, with `requireTables`, `database_not_migrated`.
 */
export async function connectPostgres({ requireTables, hasOwnName, schema, ...options }: OpenOptions): Promise<PostgresDatabase> {
  const { name = options.instanceId, maxConnections = defaultConnections } = options;
  return connectFirst(options, async ({ pool, migrator, notifications }) => {
    await (requireTables ? requireMigrated(migrator) : migrate(migrator, schema));
    // The last connection receives notifications.
    await requireConnections(pool, { name, needed: maxConnections + 1 });
    await notifications.open();
    if (hasOwnName) await requireNodeName(pool, name, () => notifications.holdName(name));
    await notifications.prove(pool);
  });
}

/** A database whose tables are as somebody left them. */
export interface UnmigratedDatabase {
  readonly store: Store;
  /** Compiles queries with `MigrationCompiler`. */
  readonly migrator: Store;
}

/** Opens a database without creating or migrating its tables, for a process that works on it alone. Throws what `connectPostgres` does. */
export const openUnmigrated = (options: ConnectionOptions): Promise<UnmigratedDatabase> => connectFirst(options, async () => undefined);

/** What is open before the tables are checked. */
interface OpenParts {
  pool: pg.Pool;
  migrator: Store;
  notifications: Notifications;
}

type Prepare = (parts: OpenParts) => Promise<void>;

/** Connects in the first way that the server permits. */
async function connectFirst(options: ConnectionOptions, prepare: Prepare): Promise<PostgresDatabase & UnmigratedDatabase> {
  const address = databaseAddress(options.url);
  const [first, ...alternatives] = address.encryption as [TlsOptions | false, ...(TlsOptions | false)[]];
  for (let [ssl, rest] = [first, alternatives]; ; [ssl, rest] = [rest[0] ?? false, rest.slice(1)]) {
    try {
      return await connect(options, address, ssl, prepare);
    } catch (error) {
      if (!isWithoutTls(error) || rest.length === 0) throw openingFailure(error, address);
    }
  }
}

async function connect(
  options: ConnectionOptions,
  address: DatabaseAddress,
  ssl: TlsOptions | false,
  prepare: Prepare,
): Promise<PostgresDatabase & UnmigratedDatabase> {
  const config = clientConfig(options, address, ssl);
  const maxConnections = options.maxConnections ?? defaultConnections;
  const pool = createPool(config, maxConnections);
  const changes = new Changes();
  const notifications = new Notifications(config, options.instanceId, changes);
  const transactions = new PostgresTransactions(pool, (table, values) => {
    changes.count(table, values);
    notifications.add(table, values);
  });
  const slowReads = new KeyedSlots(Math.max(1, Math.floor(maxConnections * maxSlowShare)));
  let end: Promise<void> | undefined;
  const destroy = (): Promise<void> => (end ??= notifications.close().then(() => pool.end()));
  const dialect = postgresDialect(driverOf(storeAccess(transactions), destroy));
  const parts: StoreParts<OpenTransaction> = {
    ...{ transactions, dialect, compiler: dialect.createQueryCompiler(), adapter: dialect.createAdapter() },
    ...{ changes, isExclusive: false, slowReads, destroy },
  };
  const migrator = createStore({ ...parts, compiler: new MigrationCompiler() });
  try {
    await checkServer(pool);
    await prepare({ pool, migrator, notifications });
  } catch (error) {
    await destroy();
    throw error;
  }
  const isReadable = ssl === false && !address.isLocal;
  return {
    store: createStore(parts),
    migrator,
    connections: {
      ...{ inWords: address.inWords, isReadable, maxCount: maxConnections + 1 },
      pool: () => poolFigures(pool, transactions.waitingCount + slowReads.waitingCount),
      isListening: () => notifications.isListening(),
      notifications: () => notifications.takeFigures(),
    },
  };
}

/** @param queued how many wait for others of their team */
const poolFigures = ({ totalCount, idleCount, waitingCount }: pg.Pool, queued: number) => ({
  used: totalCount - idleCount,
  idle: idleCount,
  waiting: waitingCount + queued,
});
