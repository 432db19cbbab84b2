/** Finds processes that work on a database. */
import { sql } from 'kysely';
import { steadyTime, systemClock } from '../../../../base/clock.ts';
import { AopsError, exitCodes } from '../../../../base/errors.ts';
import type { Queries } from '../database.ts';

/** Begins the name of every connection of aops (connections.ts). */
const prefix = 'aops/';

/** How long a connection that was closed may still be listed, and the pause before the next look, in milliseconds. */
const closing = { limit: 1_000, pause: 50 };

/**
 * Refuses a database to which nodes are connected. Those that are just leaving are waited for.
 * @param instanceId names the connections of this process
 * @throws AopsError `nodes_running`
 */
export async function refuseConnectedNodes(db: Queries, instanceId: string): Promise<void> {
  const deadline = steadyTime(systemClock) + closing.limit;
  for (;;) {
    const names = await connectedNodes(db, instanceId);
    if (names.length === 0) return;
    if (steadyTime(systemClock) >= deadline)
      throw nodesRunning(`The database is in use by ${names.join(', ')}.`, 'Stop all nodes, then run the command again.');
    await systemClock.sleep(closing.pause);
  }
}

/** The names of the processes that are connected to the database, without this one. */
async function connectedNodes(db: Queries, instanceId: string): Promise<string[]> {
  const { rows } = await sql<{
    name: string;
  }>`select distinct substr(application_name, ${prefix.length + 1}::int) as name from pg_stat_activity
    where datname = current_database() and application_name like ${`${prefix}%`} and application_name <> ${prefix + instanceId}
    order by 1`.execute(db);
  return rows.map(({ name }) => name);
}

/**
 * Refuses a database that nodes use: those that are connected, and those that hold a job, as a node on a machine that is frozen does.
 * @param instanceId names the connections of this process
 * @throws AopsError `nodes_running`
 */
export async function refuseLiveNodes(db: Queries, instanceId: string): Promise<void> {
  await refuseConnectedNodes(db, instanceId);
  const tables = await sql<{ name: string | null }>`select to_regclass('jobs')::text as name`.execute(db);
  if (tables.rows[0]?.name == null) return;
  const { rows } = await sql<{ ends: number | null }>`select max(due_at) - extract(epoch from clock_timestamp()) * 1000 as ends
    from jobs where status = 'running'`.execute(db);
  const milliseconds = rows[0]?.ends ?? 0;
  if (milliseconds > 0)
    throw nodesRunning(
      `A node still holds jobs of the database, for ${Math.ceil(milliseconds / 1_000)} more seconds.`,
      'Stop all nodes, and run the command again when this time has passed.',
    );
}

const nodesRunning = (message: string, hint: string): AopsError =>
  new AopsError(message, { code: 'nodes_running', exit: exitCodes.conflict, hint });
