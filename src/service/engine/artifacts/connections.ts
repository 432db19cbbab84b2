/** Connections of artifacts: further sources for a page, in addition to the team's own data. The generator of this service does not use them. */
import { notFound, ServiceError } from '../../errors.ts';
import { deleteArtifactConnection, insertArtifactConnection } from '../../store/artifacts/artifact-connections.ts';
import { findConnection } from '../../store/connections/connections.ts';
import type { Queries } from '../../store/database/database.ts';
import { isoTime } from '../../store/database/time.ts';
import { requireConnection } from '../connections/connections.ts';
import type { HasClock, HasStore } from '../engine.ts';
import { type Reader, requireArtifact } from './access.ts';

/** Throws 404, 403, 409 `connection_attached`. */
export async function attachConnection(
  engine: HasStore & HasClock,
  reader: Reader,
  artifactId: string,
  connectionId: string,
): Promise<void> {
  await engine.store.transaction().execute(async (trx) => {
    const artifact = await requireArtifact(trx, reader, artifactId, 'edit');
    const connection = await requireConnection(trx, reader.teamId, connectionId);
    if (await insertArtifactConnection(trx, artifact.id, connection.id, isoTime(engine.clock.now()))) return;
    throw new ServiceError(409, 'connection_attached', `The connection "${connection.name}" is already attached to this artifact.`);
  });
}

/** Throws 404, 403. */
export async function detachConnection(engine: HasStore, reader: Reader, artifactId: string, connectionId: string): Promise<void> {
  await engine.store.transaction().execute(async (trx) => {
    const artifact = await requireArtifact(trx, reader, artifactId, 'edit');
    if (!(await deleteArtifactConnection(trx, artifact.id, connectionId))) throw notFound('connection', connectionId);
  });
}

/** Attaches the connections that a new artifact is created with. Throws 400 `connection_not_found`, not 404, because they are in the body. */
export async function attachAll(engine: HasClock, trx: Queries, teamId: string, artifactId: string, ids: readonly string[]): Promise<void> {
  for (const [index, id] of ids.entries()) {
    if ((await findConnection(trx, teamId, id)) === undefined) {
      const message = `contains an unknown connection: ${id}`;
      throw new ServiceError(400, 'connection_not_found', `There is no connection ${id}.`, {
        details: [{ path: `connection_ids.${index}`, message }],
      });
    }
    await insertArtifactConnection(trx, artifactId, id, isoTime(engine.clock.now()));
  }
}
