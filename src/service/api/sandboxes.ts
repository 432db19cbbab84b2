/** Sandboxes that stage files, and the sandbox and screenshots of a run. */
import type { ScreenshotToolExecution } from '../../interface/types.ts';
import { stageSandbox } from '../engine/runs/sandbox-expiry.ts';
import { notFound, ServiceError } from '../errors.ts';
import { type GroupRoutes, type RequestContext, runPictures, signedUrl } from '../http/context.ts';
import { ReceivedFile } from '../http/received-file.ts';
import type { SandboxEntry } from '../sandbox/entry.ts';
import { namesOf, publicPath, workspace } from '../sandbox/paths.ts';
import type { SandboxFiles } from '../sandbox/sandbox-files.ts';
import { signedUrlSeconds } from '../signed-urls.ts';
import type { RunRow } from '../store/database/schema.ts';
import { findSandbox } from '../store/runs/sandboxes.ts';
import { listToolExecutions } from '../store/runs/tool-executions.ts';
import { runRepositoryRoutes } from './run-repository.ts';
import { requireRun } from './shared/lookups.ts';
import { content, listing } from './shared/run-sandbox.ts';
import { maxFileBytes, packedFiles, unpackArchive } from './shared/sandbox-archive.ts';

export const sandboxRoutes: GroupRoutes<'sandboxes'> = {
  async createSandbox(context) {
    const { id, expiresAt } = await stageSandbox(context.engine, context.teamId);
    return { sandbox_id: id, expires_at: expiresAt };
  },

  async listSandboxFiles(context, { params, query }) {
    const sandbox = await requireSandbox(context, params.sandbox_id);
    return { files: (await sandbox.list(query.path ?? workspace)).map(stagedFile) };
  },

  async uploadSandboxFile(context, { params, body }) {
    const sandbox = await requireSandbox(context, params.sandbox_id);
    if (!(body.file instanceof ReceivedFile)) {
      throw new ServiceError(400, 'invalid_request', 'file must be a file part, with a file name.', {
        details: [{ path: 'file', message: 'must be a file part' }],
      });
    }
    const { engine } = context;
    const file = await engine.workspaces.write(engine.store, sandbox.id, body.path, body.file, { limit: maxFileBytes });
    return { path: file.path, size_bytes: file.size };
  },

  async uploadSandboxArchive(context, { params, body }) {
    const sandbox = await requireSandbox(context, params.sandbox_id);
    return unpackArchive(context, sandbox.id, body as ReceivedFile);
  },

  async createSandboxUploadUrl(context, { params, body }) {
    const sandbox = await requireSandbox(context, params.sandbox_id);
    const path = await writablePath(sandbox, body.path);
    const { url } = signedUrl(context, { kind: 'upload', sandboxId: sandbox.id, path });
    return { upload_url: url, path, expires_in_seconds: signedUrlSeconds };
  },

  ...runRepositoryRoutes,

  listAgentRunSandboxFiles: async (context, { params, query }) =>
    listing(context, await requireRun(context, params.run_id, params.agent_id), query.path),
  listRunSandboxFiles: async (context, { params, query }) => listing(context, await requireRun(context, params.run_id), query.path),
  getAgentRunSandboxFileContent: async (context, { params, query }) =>
    content(context, await requireRun(context, params.run_id, params.agent_id), query.path),
  getRunSandboxFileContent: async (context, { params, query }) => content(context, await requireRun(context, params.run_id), query.path),
  getAgentRunSandboxArchive: async (context, { params, query }) =>
    packedFiles(context, await requireRun(context, params.run_id, params.agent_id), query),
  getRunSandboxArchive: async (context, { params, query }) => packedFiles(context, await requireRun(context, params.run_id), query),
  getRunScreenshotTimeline: async (context, { params }) => timeline(context, await requireRun(context, params.run_id)),
  getAgentRunScreenshotTimeline: async (context, { params }) =>
    timeline(context, await requireRun(context, params.run_id, params.agent_id)),
};

/** The sandbox. Throws 404 `sandbox_not_found`. */
async function requireSandbox({ engine, teamId }: RequestContext, id: string): Promise<SandboxFiles> {
  const row = await findSandbox(engine.store, teamId, id);
  const sandbox = row === undefined ? undefined : await engine.workspaces.files(id);
  if (sandbox === undefined) throw notFound('sandbox', id);
  return sandbox;
}

/** A path in the form that the sandbox uses. Throws unless a file can be written there. */
async function writablePath(sandbox: SandboxFiles, text: string): Promise<string> {
  const path = publicPath(namesOf(text));
  try {
    const entry = await sandbox.stat(text);
    if (entry.type === 'file') return entry.path;
  } catch (error) {
    if (error instanceof ServiceError && error.error === 'file_not_found') return path;
    throw error;
  }
  throw new ServiceError(400, 'not_a_file', `${path} is a directory.`);
}

async function timeline(context: RequestContext, run: RunRow): Promise<{ data: { toolExecutions: ScreenshotToolExecution[] } }> {
  const pictures = await runPictures(context, run.id);
  const picture = (id: string | null) => (id === null ? null : (pictures.get(id) ?? null));
  const executions = await listToolExecutions(context.engine.store, run.id);
  return {
    data: {
      toolExecutions: executions.map((row) => ({
        executionId: row.id,
        toolName: row.tool_name,
        action: row.action,
        startedAt: row.started_at,
        endedAt: row.ended_at,
        beforeScreenshot: picture(row.before_file_id),
        afterScreenshot: picture(row.after_file_id),
        ...(row.input === null ? {} : { input: JSON.parse(row.input) as Record<string, unknown> }),
        ...(row.error === null ? {} : { error: row.error }),
      })),
    },
  };
}

const stagedFile = (entry: SandboxEntry) => ({
  name: entry.name,
  path: entry.path,
  type: entry.type === 'file' ? ('file' as const) : ('dir' as const),
  size_bytes: entry.size,
});
