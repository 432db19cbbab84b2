/** Connections to Postgres: their settings, and the types of values. */
import type { ConnectionOptions as TlsOptions } from 'node:tls';
import pg from 'pg';
import passwordFrom, { type Server } from 'pgpass';
import type { DatabaseAddress } from './address.ts';

export interface ConnectionOptions {
  /** `postgres://user:password@host:port/database?sslmode=verify-full` */
  url: string;
  /** Identifies this process among those that use the database. */
  instanceId: string;
  /** What its connections are called in `pg_stat_activity`. By default its ID. */
  name?: string | undefined;
  /** How many connections this process may use at the same time for queries. 10 by default. */
  maxConnections?: number | undefined;
}

/** How many connections a process uses for queries by default. */
export const defaultConnections = 10;

/** Milliseconds that a new connection is waited for, and a free one of the pool. */
const connectTimeout = 5_000;
const freeTimeout = 10_000;

/**
 * Limits in milliseconds. A transaction whose process has stopped without losing its connection, such as one on a frozen machine, must
 * end before the lease of its job (15 s): until then it holds the row of the job, which nobody else can claim. Those that wait for one of
 * its locks wait longer than that, but not longer than their own lease.
 */
export const sessionLimits = { statement_timeout: 30_000, lock_timeout: 12_000, idle_in_transaction_session_timeout: 10_000 };

const oids = { bool: 16, int8: 20, numeric: 1700 };

/** Values as SQLite returns them: numbers for all kinds of integers, and 1 and 0 for conditions. */
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
    if (oid === oids.int8 || oid === oids.numeric) return Number;
    if (oid === oids.bool) return (value) => (value === 't' ? 1 : 0);
    return pg.types.getTypeParser(oid, format as 'text');
  },
};

/** What all connections of a process have in common. @param ssl one of the ways to connect to the address */
export const clientConfig = ({ name, instanceId }: ConnectionOptions, { connectionString }: DatabaseAddress, ssl: TlsOptions | false) => ({
  connectionString,
  ssl,
  application_name: `aops/${name ?? instanceId}`,
  keepAlive: true,
  types: types as pg.CustomTypesConfig,
});

/**
 * A connection. If its password is nowhere else, it is looked for in a password file (PGPASSFILE). The driver would do that as well, but
 * warns that it will not in future.
 */
export class Connection extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super({ ...config, connectionTimeoutMillis: connectTimeout });
    const client = this as { password?: unknown };
    if (client.password === null) client.password = (server: Server) => new Promise((resolve) => passwordFrom(server, resolve));
  }
}

/** The connections for queries. Errors of idle connections are ignored, because the pool replaces them. */
export function createPool(config: pg.ClientConfig, maxConnections: number): pg.Pool {
  const limits = { ...sessionLimits, connectionTimeoutMillis: freeTimeout };
  const pool = new pg.Pool({ ...config, ...limits, max: maxConnections, pipeline: true, Client: Connection });
  pool.on('error', () => undefined);
  // An error of a connection in use is also the error of its query; without a listener it would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}
