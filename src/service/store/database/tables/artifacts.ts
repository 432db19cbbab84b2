/** Artifacts. */
import type { Selectable } from 'kysely';
import type { ArtifactStatus, ArtifactVisibility, PublishPermission, RefreshFrequency } from '../../../../interface/types.ts';
import type { Fixed } from './columns.ts';

/** Pages that are generated from messages, and refreshed. */
export interface ArtifactsTable {
  id: Fixed<string>;
  team_id: Fixed<string>;
  /** The credential that created it. */
  created_by: Fixed<string>;
  title: string | null;
  status: ArtifactStatus;
  visibility: ArtifactVisibility;
  publish_permission: PublishPermission;
  current_revision_id: string | null;
  /** JSON of the pending or current generation (engine/artifacts/generation.ts). */
  generation: string | null;
  /** JSON of the pending question. */
  question: string | null;
  refresh_frequency: RefreshFrequency | null;
  last_refresh_at: string | null;
  next_refresh_at: string | null;
  created_at: Fixed<string>;
  updated_at: string;
}

export interface ArtifactRevisionsTable {
  id: Fixed<string>;
  artifact_id: Fixed<string>;
  /** 1, 2, 3 ... within the artifact. */
  version: Fixed<number>;
  parent_revision_id: Fixed<string | null>;
  restored_from_version: Fixed<number | null>;
  /** JSON: the specification of the page (artifacts/page.ts), and the data at the time of generation. */
  spec: Fixed<string>;
  content: Fixed<string>;
  created_at: Fixed<string>;
}

export interface ArtifactMessagesTable {
  id: Fixed<string>;
  artifact_id: Fixed<string>;
  /** 1, 2, 3 ... within the artifact. */
  seq: Fixed<number>;
  author_user_id: Fixed<string | null>;
  role: Fixed<'user' | 'assistant'>;
  content: Fixed<string>;
  /** JSON of everything other than text. */
  message: Fixed<string | null>;
  revision_id: Fixed<string | null>;
  selected_element: Fixed<string | null>;
  created_at: Fixed<string>;
}

/** Connections that are attached to artifacts. */
export interface ArtifactConnectionsTable {
  artifact_id: Fixed<string>;
  connection_id: Fixed<string>;
  created_at: Fixed<string>;
}

export interface ArtifactsTables {
  artifacts: ArtifactsTable;
  artifact_revisions: ArtifactRevisionsTable;
  artifact_messages: ArtifactMessagesTable;
  artifact_connections: ArtifactConnectionsTable;
}

export type ArtifactRow = Selectable<ArtifactsTable>;
export type ArtifactRevisionRow = Selectable<ArtifactRevisionsTable>;
export type ArtifactMessageRow = Selectable<ArtifactMessagesTable>;
