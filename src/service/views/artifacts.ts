/** Artifacts, as the interface returns them. */
import type { Artifact, ArtifactMessage, ArtifactRevision, SelectedElement } from '../../interface/types.ts';
import type { ListedRevision } from '../store/artifacts/artifact-revisions.ts';
import { fromJson } from '../store/database/json-column.ts';
import type { ArtifactMessageRow, ArtifactRow } from '../store/database/schema.ts';

export const artifactView = (row: ArtifactRow): Artifact => ({
  id: row.id,
  team_id: row.team_id,
  created_by_user_id: row.created_by,
  title: row.title,
  html_code_present: row.current_revision_id !== null,
  status: row.status,
  visibility: row.visibility,
  publish_permission: row.publish_permission,
  thumbnail_url: null,
  refresh_frequency: row.refresh_frequency,
  last_refresh_at: row.last_refresh_at,
  next_refresh_at: row.next_refresh_at,
  created_at: row.created_at,
  updated_at: row.updated_at,
});

export const artifactMessageView = (row: ArtifactMessageRow): ArtifactMessage => ({
  id: row.id,
  artifact_id: row.artifact_id,
  author_user_id: row.author_user_id,
  role: row.role,
  content: row.content,
  created_at: row.created_at,
  revision_id: row.revision_id,
  ...(row.message === null ? {} : { message: JSON.parse(row.message) as unknown }),
  selected_element: fromJson<SelectedElement>(row.selected_element),
});

export const artifactRevisionView = (row: ListedRevision): ArtifactRevision => ({
  id: row.id,
  artifact_id: row.artifact_id,
  version: row.version,
  parent_revision_id: row.parent_revision_id,
  restored_from_version: row.restored_from_version,
  created_at: row.created_at,
});
