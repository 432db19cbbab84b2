import Type, { type Static } from 'typebox';
import {
  artifactScopes,
  artifactStatuses,
  artifactThemes,
  artifactVisibilities,
  publishPermissions,
  publishVisibilities,
  refreshFrequencies,
} from '../artifact-words.ts';
import type { OperationSchemas } from '../operation.ts';
import type { artifactOperations } from '../operations/artifacts.ts';
import { DateTime, FreeForm, Named, Nullable, paging, Uuid, Words } from './common.ts';

const Frequency = Nullable(Words([...refreshFrequencies]));
const Theme = Type.Object({ theme: Type.Optional(Words([...artifactThemes], { default: 'light' })) });
const Message = Type.String({ minLength: 1, maxLength: 10_000 });

/** The part of the page that a message refers to, as the browser found it. */
export const SelectedElement = Named('SelectedElement', {
  selector: Type.String({ minLength: 1, maxLength: 2_000 }),
  label: Type.String({ minLength: 1, maxLength: 200 }),
  tag_name: Type.String({ minLength: 1, maxLength: 50 }),
  text: Type.Optional(Type.String({ maxLength: 500 })),
  outer_html: Type.String({ minLength: 1, maxLength: 4_000 }),
});
export type SelectedElement = Static<typeof SelectedElement>;

export const Artifact = Named('Artifact', {
  id: Uuid,
  team_id: Uuid,
  /** The local service has no users: this is the credential or the run that created it. */
  created_by_user_id: Uuid,
  title: Nullable(Type.String()),
  /** Whether there is a page. */
  html_code_present: Type.Boolean(),
  status: Words([...artifactStatuses], { $id: 'ArtifactStatus' }),
  visibility: Words([...artifactVisibilities], { $id: 'ArtifactVisibility' }),
  publish_permission: Words([...publishPermissions]),
  thumbnail_url: Type.Optional(Nullable(Type.String())),
  refresh_frequency: Type.Optional(Frequency),
  last_refresh_at: Type.Optional(Nullable(DateTime)),
  next_refresh_at: Type.Optional(Nullable(DateTime)),
  created_at: DateTime,
  updated_at: DateTime,
});
export type Artifact = Static<typeof Artifact>;

/** A message. `message` is more than text: questions (`type` is `question`, with `toolCallId` and `questions`), and answers to them. */
export const ArtifactMessage = Named('ArtifactMessage', {
  id: Uuid,
  artifact_id: Uuid,
  author_user_id: Type.Optional(Nullable(Uuid)),
  role: Words(['user', 'assistant']),
  content: Type.String(),
  created_at: DateTime,
  /** The revision that a message refers to, or that a response created. */
  revision_id: Type.Optional(Nullable(Uuid)),
  message: Type.Optional(Type.Unknown()),
  selected_element: Type.Optional(Nullable(SelectedElement)),
});
export type ArtifactMessage = Static<typeof ArtifactMessage>;

export const ArtifactRevision = Named('ArtifactRevision', {
  id: Uuid,
  artifact_id: Uuid,
  /** 1, 2, 3 ... */
  version: Type.Integer(),
  parent_revision_id: Nullable(Uuid),
  restored_from_version: Nullable(Type.Integer()),
  created_at: DateTime,
});
export type ArtifactRevision = Static<typeof ArtifactRevision>;

export const ArtifactConnection = Named('ArtifactConnection', {
  connection_id: Uuid,
  integration_id: Nullable(Uuid),
  custom_integration_id: Nullable(Uuid),
  type: Type.String(),
  created_at: DateTime,
});
export type ArtifactConnection = Static<typeof ArtifactConnection>;

const Html = Type.String();

export const artifactSchemas = {
  listArtifacts: {
    query: Type.Object({ ...paging(100, 20), scope: Type.Optional(Words([...artifactScopes])) }),
    response: Type.Object({ artifacts: Type.Array(Artifact), total: Type.Integer(), limit: Type.Integer(), offset: Type.Integer() }),
  },
  createArtifact: {
    body: Type.Object({ message: Message, connection_ids: Type.Optional(Type.Array(Uuid, { maxItems: 10 })) }),
    response: Type.Object({ artifact_id: Uuid, user_message: ArtifactMessage }),
  },
  getArtifact: { response: Type.Object({ artifact: Artifact, is_creator: Type.Boolean(), can_edit: Type.Boolean() }) },
  updateArtifact: {
    body: Type.Object({
      title: Type.Optional(Type.String({ minLength: 1, maxLength: 120 })),
      refresh_frequency: Type.Optional(Frequency),
    }),
    response: Artifact,
  },
  deleteArtifact: { response: Type.Object({ success: Type.Literal(true) }) },
  answerArtifactQuestion: {
    body: Type.Object({
      toolCallId: Type.String({ minLength: 1 }),
      /** Question text to answer. */
      answers: FreeForm,
    }),
    response: Type.Object({ ok: Type.Literal(true) }),
  },
  listArtifactConnections: { response: Type.Object({ connections: Type.Array(ArtifactConnection) }) },
  attachArtifactConnection: { body: Type.Object({ connection_id: Uuid }), response: Type.Object({ success: Type.Boolean() }) },
  detachArtifactConnection: { response: Type.Object({ success: Type.Boolean() }) },
  duplicateArtifact: { response: Artifact },
  exportArtifactHtml: { query: Theme, response: Html },
  exportArtifactPdf: { query: Theme, response: Type.Unknown() },
  listArtifactMessages: {
    query: Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 100 })),
      /** ID of a message: only messages before it are returned. */
      before: Type.Optional(Uuid),
    }),
    response: Type.Object({ data: Type.Array(ArtifactMessage), total: Type.Integer({ minimum: 0 }), has_more: Type.Boolean() }),
  },
  sendArtifactMessage: {
    body: Type.Object({
      message: Message,
      /** Changes this revision instead of the current one. */
      from_revision_id: Type.Optional(Uuid),
      selected_element: Type.Optional(SelectedElement),
    }),
    response: Type.Object({ user_message: ArtifactMessage }),
  },
  publishArtifact: {
    body: Type.Object({ visibility: Words([...publishVisibilities]), permission: Type.Optional(Words([...publishPermissions])) }),
    response: Artifact,
  },
  refreshArtifact: { response: Artifact },
  renderArtifact: { response: Html },
  listArtifactRevisions: {
    response: Type.Object({
      revisions: Type.Array(ArtifactRevision),
      total: Type.Integer(),
      current_revision_id: Nullable(Uuid),
      current_version: Nullable(Type.Integer()),
    }),
  },
  renderArtifactRevision: { response: Html },
  restoreArtifactRevision: {
    response: Type.Object({ success: Type.Literal(true), current_revision_id: Uuid, current_version: Type.Integer() }),
  },
  stopArtifactMessage: {
    body: Type.Object({
      /** The part of the response that the caller has seen so far; it is stored as the response. */
      partial_text: Type.Optional(Type.String({ maxLength: 100_000 })),
    }),
    optionalBody: true,
    response: Type.Object({ artifact: Artifact }),
  },
} as const satisfies Record<keyof typeof artifactOperations, OperationSchemas>;
