/** Connections to Postgres: their settings, and the types of values. */
import pg from 'pg';

export interface ConnectionOptions {
  /** `postgres://user:password@host:port/database?sslmode=verify-full` */
  url: string;
  /** Names this process among the connections of the database. */
  instanceId: string;
  /** How many connections this process may use at the same time for queries. 10 by default. */
  maxConnections?: number | undefined;
}

/** How many connections a process uses for queries by default. */
export const defaultConnections = 10;

/** Milliseconds that a connection, or a free one of the pool, is waited for. */
const connectTimeout = 5_000;

/**
 * Limits in milliseconds. A transaction whose process has stopped without losing its connection, such as one on a frozen machine, must
 * end before the lease of its job (15 s): until then it holds the row of the job, which nobody else can claim.
 */
const sessionLimits = { statement_timeout: 30_000, lock_timeout: 5_000, idle_in_transaction_session_timeout: 10_000 };

const oids = { bool: 16, int8: 20, numeric: 1700 };

/** Values as SQLite returns them: numbers for all kinds of integers, and 1 and 0 for conditions. */
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
    if (oid === oids.int8 || oid === oids.numeric) return Number;
    if (oid === oids.bool) return (value) => (value === 't' ? 1 : 0);
    return pg.types.getTypeParser(oid, format as 'text');
  },
};

/** What all connections of a process have in common. */
export const clientConfig = ({ url, instanceId }: ConnectionOptions) => ({
  connectionString: url,
  application_name: `aops/${instanceId}`,
  connectionTimeoutMillis: connectTimeout,
  keepAlive: true,
  types: types as pg.CustomTypesConfig,
});

/** The connections for queries. Errors of idle connections are ignored, because the pool replaces them. */
export function createPool(options: ConnectionOptions): pg.Pool {
  const pool = new pg.Pool({ ...clientConfig(options), ...sessionLimits, max: options.maxConnections ?? defaultConnections });
  pool.on('error', () => undefined);
  // An error of a connection in use is also the error of its query; without a listener it would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}
