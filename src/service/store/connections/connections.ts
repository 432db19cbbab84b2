/** Connections, and the runs that used them. */
import type { Insertable, Updateable } from 'kysely';
import type { Queries } from '../database/database.ts';
import { lockIfDeciding } from '../database/row-locks.ts';
import type { ConnectionRow, ConnectionsTable } from '../database/schema.ts';

export async function insertConnection(db: Queries, connection: Insertable<ConnectionsTable>): Promise<ConnectionRow> {
  return db.insertInto('connections').values(connection).returningAll().executeTakeFirstOrThrow();
}

/** Oldest first, excluding deleted ones. */
export async function listConnectionRows(
  db: Queries,
  filter: { teamId: string; type?: string | undefined },
  { limit, offset }: { limit: number; offset: number },
): Promise<{ rows: ConnectionRow[]; total: number }> {
  const { teamId, type } = filter;
  const matching = db
    .selectFrom('connections')
    .where('team_id', '=', teamId)
    .where('deleted_at', 'is', null)
    .$if(type !== undefined, (query) => query.where('type', '=', type as string));
  const rows = await matching.selectAll().orderBy('created_at').orderBy('id').limit(limit).offset(offset).execute();
  const { count } = await matching.select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow();
  return { rows, total: Number(count) };
}

export async function findConnection(db: Queries, teamId: string, id: string): Promise<ConnectionRow | undefined> {
  await lockIfDeciding(db, 'connections', id);
  return db
    .selectFrom('connections')
    .selectAll()
    .where('id', '=', id)
    .where('team_id', '=', teamId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
}

/** The connections of a team that have one of these names or IDs, oldest first. */
export async function connectionsOfTeam(db: Queries, teamId: string, namesOrIds: string[]): Promise<ConnectionRow[]> {
  return db
    .selectFrom('connections')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('deleted_at', 'is', null)
    .where(({ or, eb }) => or([eb('name', 'in', namesOrIds), eb('id', 'in', namesOrIds)]))
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

export async function findConnectionsNamed(db: Queries, teamId: string, name: string): Promise<ConnectionRow[]> {
  return db
    .selectFrom('connections')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('name', '=', name)
    .where('deleted_at', 'is', null)
    .orderBy('created_at')
    .execute();
}

/** Changes a connection unless it has been deleted, or its revision differs from the one specified; undefined in these cases. */
export async function updateConnectionRow(
  db: Queries,
  id: string,
  changes: Updateable<ConnectionsTable>,
  revision?: number,
): Promise<ConnectionRow | undefined> {
  return db
    .updateTable('connections')
    .set(changes)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .$if(revision !== undefined, (query) => query.where('revision', '=', revision as number))
    .returningAll()
    .executeTakeFirst();
}

/** Replaces the sealed tokens of a connection, unless they have been replaced or removed by somebody else. */
export async function replaceTokens(db: Queries, id: string, sealedTokens: { before: string; after: string }): Promise<void> {
  await db
    .updateTable('connections')
    .set({ oauth: sealedTokens.after })
    .where('id', '=', id)
    .where('oauth', '=', sealedTokens.before)
    .execute();
}

/** Records that a run uses a connection. */
export async function noteRunConnection(
  db: Queries,
  use: { run_id: string; connection_id: string; name: string; first_used_at: string },
): Promise<void> {
  await db
    .insertInto('run_connections')
    .values(use)
    .onConflict((conflict) => conflict.columns(['run_id', 'connection_id']).doNothing())
    .execute();
}

/** The connections that a run has used, sorted by their first use, including deleted ones. */
export async function runConnections(db: Queries, runId: string) {
  return db
    .selectFrom('run_connections')
    .innerJoin('connections', 'connections.id', 'run_connections.connection_id')
    .select([
      'connections.id',
      'run_connections.name',
      'connections.type',
      'connections.provider',
      'connections.server_url',
      'run_connections.first_used_at',
      'connections.deleted_at',
    ])
    .where('run_connections.run_id', '=', runId)
    .orderBy('run_connections.first_used_at')
    .orderBy('connections.id')
    .execute();
}
