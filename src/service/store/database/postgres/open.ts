/** Opens a Postgres database that several nodes can use at the same time. */
import type pg from 'pg';
import { AopsError, exitCodes, UsageError } from '../../../../base/errors.ts';
import { Changes } from '../changes.ts';
import type { Store } from '../database.ts';
import { createStore, type StoreParts } from '../execution/create-store.ts';
import { driverOf, storeAccess } from '../execution/drivers.ts';
import { type ConnectionOptions, clientConfig, createPool, defaultConnections } from './connections.ts';
import { MigrationCompiler, postgresDialect } from './dialect.ts';
import { queryError } from './errors.ts';
import { migrate } from './migrate.ts';
import { Notifications } from './notifications.ts';
import { type OpenTransaction, PostgresTransactions } from './transactions.ts';

/** The oldest version of Postgres that is supported: the oldest that its developers support. */
const oldestVersion = 14;

/**
 * Opens a database, and creates or migrates its tables.
 * Throws AopsError `database_unreachable`, `database_unsuitable`, `database_connections_too_few`, `database_newer`, or `database_foreign`.
 */
export async function openPostgres(options: ConnectionOptions): Promise<Store> {
  const pool = createPool(options);
  const changes = new Changes();
  const notifications = new Notifications(clientConfig(options), options.instanceId, changes);
  const transactions = new PostgresTransactions(pool, (table, values) => {
    changes.count(table, values);
    notifications.add(table, values);
  });
  let end: Promise<void> | undefined;
  const destroy = (): Promise<void> => (end ??= notifications.close().then(() => pool.end()));
  const dialect = postgresDialect(driverOf(storeAccess(transactions), destroy));
  const parts: StoreParts<OpenTransaction> = {
    ...{ transactions, dialect, compiler: dialect.createQueryCompiler(), adapter: dialect.createAdapter() },
    ...{ changes, isExclusive: false, destroy },
  };
  try {
    await checkServer(pool, options.maxConnections ?? defaultConnections);
    await migrate(createStore({ ...parts, compiler: new MigrationCompiler() }));
    await notifications.open();
  } catch (error) {
    await destroy();
    throw error;
  }
  return createStore(parts);
}

interface ServerFacts {
  version: number;
  encoding: string;
  is_replica: number;
  is_read_only: number;
  limit: number;
  used: number;
}

const serverFacts = `select current_setting('server_version_num')::int / 10000 as version,
  current_setting('server_encoding') as encoding,
  pg_is_in_recovery() as is_replica,
  current_setting('transaction_read_only')::bool as is_read_only,
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as limit,
  (select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()) as used`;

async function checkServer(pool: pg.Pool, maxConnections: number): Promise<void> {
  const facts = await readFacts(pool);
  if (facts.version < oldestVersion)
    throw unsuitable(`The database is PostgreSQL ${facts.version}.`, `Upgrade it to PostgreSQL ${oldestVersion} or later.`);
  if (facts.encoding !== 'UTF8')
    throw unsuitable(
      `The encoding of the database is ${facts.encoding}.`,
      'Create a database with the encoding UTF8: `createdb -E UTF8 -T template0 aops`.',
    );
  if (facts.is_replica === 1 || facts.is_read_only === 1)
    throw unsuitable('The database can only be read.', 'Connect to the primary server, as a role that may write.');
  // One more receives notifications.
  const needed = maxConnections + 1;
  if (facts.used + needed <= facts.limit) return;
  throw new AopsError(
    `The database allows ${facts.limit} connections, of which ${facts.used} are in use; this process needs up to ${needed}.`,
    {
      code: 'database_connections_too_few',
      exit: exitCodes.conflict,
      hint: 'Raise max_connections of the database, or let each process use fewer connections.',
    },
  );
}

async function readFacts(pool: pg.Pool): Promise<ServerFacts> {
  try {
    return (await pool.query(serverFacts)).rows[0] as ServerFacts;
  } catch (error) {
    const { cause = error } = queryError(error) as Error;
    throw new AopsError(`The database cannot be used: ${cause instanceof Error ? cause.message : String(cause)}.`, {
      code: 'database_unreachable',
      exit: exitCodes.unavailable,
      hint: 'Check the URL, the user, and the password, and that the database accepts connections from this machine.',
      cause,
    });
  }
}

const unsuitable = (message: string, hint: string): AopsError => new UsageError(message, hint, 'database_unsuitable');
