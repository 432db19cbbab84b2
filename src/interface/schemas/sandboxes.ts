import Type, { type Static } from 'typebox';
import type { OperationSchemas } from '../operation.ts';
import type { sandboxOperations } from '../operations/sandboxes.ts';
import { DateTime, FreeForm, Named, NamedClosed, Nullable, Words } from './common.ts';

export const SandboxStatus = Words(['running', 'paused', 'not_found', 'error'], { $id: 'SandboxStatus' });

/** Interface part 2.6. */
export const SandboxFileEntry = NamedClosed('SandboxFileEntry', {
  name: Type.String(),
  path: Type.String(),
  type: Words(['file', 'directory']),
  size: Type.Integer({ minimum: 0 }),
  modified_at: Nullable(Type.String()),
  isTextFile: Type.Boolean(),
});
export type SandboxFileEntry = Static<typeof SandboxFileEntry>;

/** Interface part 2.7. */
export const SandboxFileContent = Named('SandboxFileContent', {
  sandboxStatus: SandboxStatus,
  path: Type.String(),
  isTextFile: Type.Boolean(),
  content: Nullable(Type.String()),
  size: Type.Integer({ minimum: 0 }),
  encoding: Type.Optional(Type.String()),
  mime_type: Type.Optional(Nullable(Type.String())),
  truncated: Type.Optional(Type.Boolean()),
  message: Type.Optional(Type.String()),
  download_url: Type.Optional(Nullable(Type.String())),
});
export type SandboxFileContent = Static<typeof SandboxFileContent>;

const Screenshot = NamedClosed('Screenshot', { signedUrl: Type.String(), expiresAt: Type.String() });

/** Interface part 2.8. */
export const ScreenshotToolExecution = Named('ScreenshotToolExecution', {
  executionId: Type.String(),
  toolName: Type.String(),
  action: Type.Optional(Nullable(Type.String())),
  startedAt: Nullable(DateTime),
  endedAt: Nullable(DateTime),
  beforeScreenshot: Nullable(Screenshot),
  afterScreenshot: Nullable(Screenshot),
  input: Type.Optional(FreeForm),
  error: Type.Optional(Type.String({ description: 'Why it failed. An extension of the local service.' })),
});
export type ScreenshotToolExecution = Static<typeof ScreenshotToolExecution>;

/** A file of a standalone sandbox; the further groups call its type `file|dir`. */
export const StagedFile = Named('StagedFile', {
  name: Type.String(),
  path: Type.String(),
  type: Words(['file', 'dir']),
  size_bytes: Type.Integer({ minimum: 0 }),
});
export type StagedFile = Static<typeof StagedFile>;

const path = Type.Object({ path: Type.Optional(Type.String()) });
const FileListing = Named('SandboxFileListing', {
  data: Type.Object({ sandboxStatus: SandboxStatus, path: Type.String(), entries: Type.Array(SandboxFileEntry) }),
});
const FileContent = Type.Object({ data: SandboxFileContent });
const Timeline = Named('ScreenshotTimeline', { data: Type.Object({ toolExecutions: Type.Array(ScreenshotToolExecution) }) });

export const sandboxSchemas = {
  createSandbox: { response: Type.Object({ sandbox_id: Type.String(), expires_at: DateTime }) },
  listSandboxFiles: {
    query: Type.Object({ path: Type.Optional(Type.String({ default: '/workspace' })) }),
    response: Type.Object({ files: Type.Array(StagedFile) }),
  },
  uploadSandboxFile: {
    body: Type.Object({ file: Type.Unknown({ description: 'The file, as a multipart part' }), path: Type.String({ minLength: 1 }) }),
    response: Type.Object({ path: Type.String(), size_bytes: Type.Integer({ minimum: 0 }) }),
  },
  createSandboxUploadUrl: {
    body: Type.Object({ path: Type.String({ minLength: 1 }) }),
    response: Type.Object({
      upload_url: Type.String({ format: 'uri' }),
      path: Type.String(),
      expires_in_seconds: Type.Integer({ minimum: 1 }),
    }),
  },
  listAgentRunSandboxFiles: { query: path, response: FileListing },
  listRunSandboxFiles: { query: path, response: FileListing },
  getAgentRunSandboxFileContent: { query: path, response: FileContent },
  getRunSandboxFileContent: { query: path, response: FileContent },
  getRunScreenshotTimeline: { response: Timeline },
  getAgentRunScreenshotTimeline: { response: Timeline },
} as const satisfies Record<keyof typeof sandboxOperations, OperationSchemas>;
