/** Connections of artifacts: what a page may be made from beside what the team has here. The generator of this service keeps them and uses none. */
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
    throw new ServiceError(409, 'connection_attached', `The connection "${connection.name}" is attached to this artifact already.`);
  });
}

/** Throws 404, 403. */
export async function detachConnection(engine: HasStore, reader: Reader, artifactId: string, connectionId: string): Promise<void> {
  await engine.store.transaction().execute(async (trx) => {
    const artifact = await requireArtifact(trx, reader, artifactId, 'edit');
    if (!(await deleteArtifactConnection(trx, artifact.id, connectionId))) throw notFound('connection', connectionId);
  });
}

/** Attaches those that a new artifact is created with. Throws 400 `connection_not_found`: what a body names is no path. */
export async function attachAll(engine: HasClock, trx: Queries, teamId: string, artifactId: string, ids: readonly string[]): Promise<void> {
  for (const [index, id] of ids.entries()) {
    if ((await findConnection(trx, teamId, id)) === undefined) {
      const message = `names no connection: ${id}`;
      throw new ServiceError(400, 'connection_not_found', `There is no connection ${id}.`, {
        details: [{ path: `connection_ids.${index}`, message }],
      });
    }
    await insertArtifactConnection(trx, artifactId, id, isoTime(engine.clock.now()));
  }
}
