/** Connections that are attached to artifacts. Deleted connections are no longer attached. */
import type { Queries } from '../database/database.ts';

export interface AttachedConnection {
  connection_id: string;
  type: string;
  created_at: string;
}

/** False if it was attached already. */
export async function insertArtifactConnection(db: Queries, artifactId: string, connectionId: string, now: string): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('artifact_connections')
    .values({ artifact_id: artifactId, connection_id: connectionId, created_at: now })
    .onConflict((conflict) => conflict.columns(['artifact_id', 'connection_id']).doNothing())
    .executeTakeFirst();
  return Number(numInsertedOrUpdatedRows ?? 0) > 0;
}

/** In the order in which they were attached. */
export async function listArtifactConnectionRows(db: Queries, artifactId: string): Promise<AttachedConnection[]> {
  return db
    .selectFrom('artifact_connections')
    .innerJoin('connections', 'connections.id', 'artifact_connections.connection_id')
    .select(['artifact_connections.connection_id', 'connections.type', 'artifact_connections.created_at'])
    .where('artifact_connections.artifact_id', '=', artifactId)
    .where('connections.deleted_at', 'is', null)
    .orderBy('artifact_connections.created_at')
    .orderBy('artifact_connections.connection_id')
    .execute();
}

/** False if it was not attached. */
export async function deleteArtifactConnection(db: Queries, artifactId: string, connectionId: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('artifact_connections')
    .where('artifact_id', '=', artifactId)
    .where('connection_id', '=', connectionId)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}
