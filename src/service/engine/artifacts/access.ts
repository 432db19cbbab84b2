/** Who may see and change an artifact. For a caller who may not see an artifact, it does not exist. */
import { notFound, ServiceError } from '../../errors.ts';
import { findArtifact } from '../../store/artifacts/artifacts.ts';
import type { Queries } from '../../store/database/database.ts';
import type { ArtifactRow } from '../../store/database/schema.ts';

/** The caller: a credential of a team. */
export interface Reader {
  readonly teamId: string;
  readonly credentialId: string;
  /** Whether the caller is the owner of the service, who can manage everything in their own team. */
  readonly isOwner: boolean;
}

export const isCreator = (reader: Reader, artifact: ArtifactRow): boolean => artifact.created_by === reader.credentialId;

export const mayManage = (reader: Reader, artifact: ArtifactRow): boolean => isCreator(reader, artifact) || reader.isOwner;

export const mayEdit = (reader: Reader, artifact: ArtifactRow): boolean =>
  mayManage(reader, artifact) || (artifact.visibility !== 'private' && artifact.publish_permission === 'edit');

/** The artifact. Throws 404 `artifact_not_found`, and 403 `artifact_not_editable` or `artifact_not_yours` if the caller may only see it. */
export async function requireArtifact(
  db: Queries,
  reader: Reader,
  id: string,
  need: 'see' | 'edit' | 'manage' = 'see',
): Promise<ArtifactRow> {
  const artifact = await findArtifact(db, reader.teamId, id);
  if (artifact === undefined || (artifact.visibility === 'private' && !mayManage(reader, artifact))) throw notFound('artifact', id);
  if (need === 'manage' && !mayManage(reader, artifact)) {
    throw new ServiceError(
      403,
      'artifact_not_yours',
      'Only the creator of this artifact may do that. Duplicate it to get one of your own.',
    );
  }
  if (need === 'edit' && !mayEdit(reader, artifact)) {
    throw new ServiceError(
      403,
      'artifact_not_editable',
      'This artifact was published read-only. Duplicate it to change a copy, or ask its creator to publish it with permission to edit.',
    );
  }
  return artifact;
}
