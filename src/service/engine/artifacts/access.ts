/** Who may see and change an artifact. What a caller may not see does not exist for it. */
import { notFound, ServiceError } from '../../errors.ts';
import { findArtifact } from '../../store/artifacts/artifacts.ts';
import type { Queries } from '../../store/database/database.ts';
import type { ArtifactRow } from '../../store/database/schema.ts';

/** Who asks: a credential of a team. */
export interface Reader {
  readonly teamId: string;
  readonly credentialId: string;
  /** Whether it is the owner of the service, who looks after everything in the own team. */
  readonly isOwner: boolean;
}

export const isCreator = (reader: Reader, artifact: ArtifactRow): boolean => artifact.created_by === reader.credentialId;

export const mayManage = (reader: Reader, artifact: ArtifactRow): boolean => isCreator(reader, artifact) || reader.isOwner;

export const mayEdit = (reader: Reader, artifact: ArtifactRow): boolean =>
  mayManage(reader, artifact) || (artifact.visibility !== 'private' && artifact.publish_permission === 'edit');

/** The artifact, or 404 `artifact_not_found`; 403 `artifact_not_editable` or `artifact_not_yours` when it may be seen and no more. */
export async function requireArtifact(
  db: Queries,
  reader: Reader,
  id: string,
  need: 'see' | 'edit' | 'manage' = 'see',
): Promise<ArtifactRow> {
  const artifact = await findArtifact(db, reader.teamId, id);
  if (artifact === undefined || (artifact.visibility === 'private' && !mayManage(reader, artifact))) throw notFound('artifact', id);
  if (need === 'manage' && !mayManage(reader, artifact)) {
    throw new ServiceError(403, 'artifact_not_yours', 'Only who created this artifact may do that. Duplicate it to have one of your own.');
  }
  if (need === 'edit' && !mayEdit(reader, artifact)) {
    throw new ServiceError(
      403,
      'artifact_not_editable',
      'This artifact is published to be looked at. Duplicate it to change a copy, or ask its creator to publish it with the permission to edit.',
    );
  }
  return artifact;
}
