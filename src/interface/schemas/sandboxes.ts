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

/** The repository that a run's sandbox was started with. An extension of the local service. */
export const RunRepository = Named('RunRepository', {
  kind: Words(['path', 'url']),
  /** A folder of the machine of the service, or a URL. */
  source: Type.String(),
  ref: Nullable(Type.String({ description: 'The ref that was requested; null for what was checked out, or the default branch.' })),
  /** The commit from which the run started; null until the repository at a URL has been read. */
  commit: Nullable(Type.String()),
  base_branch: Nullable(Type.String({ description: 'The branch of the source that contains the commit, if the ref is a branch.' })),
  branch: Type.String({ description: 'The branch in the workspace.' }),
  /** Files of the source that had uncommitted work, which the run does not see. */
  uncommitted_files: Type.Integer({ minimum: 0 }),
  ready: Type.Boolean({ description: 'Whether it has been checked out into the workspace.' }),
});
export type RunRepository = Static<typeof RunRepository>;

/** A file that a run changed in its repository. */
export const ChangedFile = Named('ChangedFile', {
  path: Type.String(),
  change: Words(['added', 'changed', 'removed', 'renamed']),
  old_path: Nullable(Type.String()),
  size_before: Nullable(Type.Integer({ minimum: 0 })),
  size_after: Nullable(Type.Integer({ minimum: 0 })),
  mode_before: Nullable(Type.String({ description: 'As git writes it: 100644, 100755, 120000 for a link, 160000 for a submodule.' })),
  mode_after: Nullable(Type.String()),
  lines_added: Nullable(Type.Integer({ minimum: 0, description: 'Null for a binary file.' })),
  lines_removed: Nullable(Type.Integer({ minimum: 0 })),
});
export type ChangedFile = Static<typeof ChangedFile>;

/** The differences between a run's workspace and the commit from which it started. */
export const RunChanges = Named('RunChanges', {
  repository: RunRepository,
  /** Identifies this state of the files: a tree of git. */
  tree: Type.String(),
  files: Type.Array(ChangedFile),
  total_files: Type.Integer({ minimum: 0, description: 'The number of changed files, of which at most 10,000 are listed.' }),
  nested_repositories: Type.Array(Type.String(), { description: 'Folders with a repository of their own, which are left out.' }),
  patch_url: Nullable(Type.String({ description: 'Signed; needs no credential. Null if nothing has changed.' })),
  patch_size: Type.Integer({ minimum: 0 }),
});
export type RunChanges = Static<typeof RunChanges>;

/** A file of a standalone sandbox; the further groups call its type `file|dir`. */
export const StagedFile = Named('StagedFile', {
  name: Type.String(),
  path: Type.String(),
  type: Words(['file', 'dir']),
  size_bytes: Type.Integer({ minimum: 0 }),
});
export type StagedFile = Static<typeof StagedFile>;

const path = Type.Object({ path: Type.Optional(Type.String()) });
const archive = {
  query: Type.Object({
    path: Type.Optional(Type.String({ default: '/workspace', description: 'A folder with everything in it, or a file.' })),
    after: Type.Optional(Type.String({ description: 'The path of the last file that was received: the archive continues after it.' })),
  }),
  response: Type.Unknown({
    description:
      'A POSIX tar archive. Its first entry, aops-files.json, lists the files that follow: {path, files: [{path, size}]}. The names of entries are paths in the sandbox, and an extended header contains the SHA-256 of each file (AOPS.sha256, in hex). Files that are larger than 10 MB, or can no longer be read, are listed but left out.',
  }),
} as const;
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
  uploadSandboxArchive: {
    body: Type.Unknown({
      description:
        'A POSIX tar archive of up to 16 MiB with at most 10,000 files of up to 10 MB. Names are paths in the sandbox; folders are skipped. The SHA-256 of a file (AOPS.sha256 in an extended header, in hex) is verified. If the archive is invalid, none of its files is written.',
    }),
    response: Type.Object({ files: Type.Integer({ minimum: 0 }), size_bytes: Type.Integer({ minimum: 0 }) }),
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
  getAgentRunSandboxArchive: archive,
  getRunSandboxArchive: archive,
  getRunChanges: { response: Type.Object({ data: RunChanges }) },
  getRunScreenshotTimeline: { response: Timeline },
  getAgentRunScreenshotTimeline: { response: Timeline },
} as const satisfies Record<keyof typeof sandboxOperations, OperationSchemas>;
