/** Checks whether a server can be used, before anything is changed. */
import type pg from 'pg';
import { AopsError, exitCodes } from '../../../../base/errors.ts';
import { nodeSilence } from '../node-silence.ts';
import { sessionLimits } from './connections.ts';
import { poolerRefusal, unsuitable } from './refusals.ts';

/** The oldest version of Postgres that is supported: the oldest that its developers support. */
const oldestVersion = 14;

interface ServerFacts {
  version: number;
  encoding: string;
  is_replica: number;
  is_read_only: number;
  idle_limit: number;
}

const serverFacts = `select current_setting('server_version_num')::int / 10000 as version,
  current_setting('server_encoding') as encoding,
  pg_is_in_recovery() as is_replica,
  current_setting('transaction_read_only')::bool as is_read_only,
  extract(epoch from current_setting('idle_in_transaction_session_timeout')::interval) * 1000 as idle_limit`;

/** Throws AopsError `database_unsuitable`, `database_pooler_unsuitable`, or an error of the connection. */
export async function checkServer(pool: pg.Pool): Promise<void> {
  const facts = (await pool.query(serverFacts)).rows[0] as ServerFacts;
  if (facts.version < oldestVersion)
    throw unsuitable(`The database is PostgreSQL ${facts.version}.`, `Upgrade it to PostgreSQL ${oldestVersion} or later.`);
  if (facts.encoding !== 'UTF8')
    throw unsuitable(
      `The encoding of the database is ${facts.encoding}.`,
      'Create a database with the encoding UTF8: `createdb -E UTF8 -T template0 aops`.',
    );
  if (facts.is_replica === 1 || facts.is_read_only === 1)
    throw unsuitable('The database can only be read.', 'Connect to the primary server, as a role that may write.');
  if (facts.idle_limit !== sessionLimits.idle_in_transaction_session_timeout)
    throw poolerRefusal('it does not pass on the limits of a session');
}

/** What nodes that are alive may use, and what others use at this moment. */
const connectionFacts = `select
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
    - coalesce(current_setting('reserved_connections', true)::int, 0) as limit,
  (select count(*) from pg_stat_activity where backend_type = 'client backend' and application_name not like 'aops/%') as others,
  (select count(*) from pg_stat_activity where application_name like 'aops/%' and pid <> pg_backend_pid()) as ours,
  (select coalesce(sum(connections), 0) from nodes
    where name <> $1 and seen_at > extract(epoch from clock_timestamp()) * 1000 - $2) as promised`;

interface ConnectionFacts {
  limit: number;
  others: number;
  ours: number;
  promised: number;
}

/**
 * Checks that the connections of all nodes fit. Call it when the tables exist.
 * @param name of this node: an earlier one with the same name has ended
 * @param needed how many connections this process may use
 * @throws AopsError `database_connections_too_few`
 */
export async function requireConnections(pool: pg.Pool, { name, needed }: { name: string; needed: number }): Promise<void> {
  const { rows } = await pool.query(connectionFacts, [name, nodeSilence]);
  const { limit, others, ours, promised } = rows[0] as ConnectionFacts;
  const reserved = others + Math.max(ours, promised);
  if (reserved + needed <= limit) return;
  throw new AopsError(
    `The database allows ${limit} connections. Other nodes and programs use up to ${reserved} of them, and this node needs up to ${needed}.`,
    {
      code: 'database_connections_too_few',
      exit: exitCodes.conflict,
      hint: 'Raise max_connections of the database, or use fewer connections in each node with --database-connections.',
    },
  );
}
