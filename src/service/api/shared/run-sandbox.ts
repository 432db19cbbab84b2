/**
 * The files in the sandbox of a run, as callers see them (interface parts 2.6, 2.7, and 3.4). The status is `running` while the run
 * is being executed, `paused` if it is waiting or has ended and the files can be read, `not_found` if the files were removed after
 * the retention time, and `error` if they cannot be read.
 */
import type { SandboxFileContent, SandboxFileEntry } from '../../../interface/types.ts';
import { ServiceError } from '../../errors.ts';
import { type RequestContext, signedUrl } from '../../http/context.ts';
import { errorFields } from '../../log.ts';
import type { SandboxEntry } from '../../sandbox/entry.ts';
import { namesOf, publicPath, workspace } from '../../sandbox/paths.ts';
import type { SandboxFiles } from '../../sandbox/sandbox-files.ts';
import type { Queries } from '../../store/database/database.ts';
import type { RunRow } from '../../store/database/schema.ts';
import { findRepository } from '../../store/runs/sandbox-repositories.ts';
import { findSandbox } from '../../store/runs/sandboxes.ts';

/** Texts of up to this many bytes are included in the response. */
const inlineLimit = 1024 * 1024;

type Status = 'running' | 'paused';
type Unreadable = { sandboxStatus: 'not_found' | 'error'; message: string };

export async function listing(
  context: RequestContext,
  run: RunRow,
  path = workspace,
): Promise<{ data: { sandboxStatus: Status | Unreadable['sandboxStatus']; path: string; entries: SandboxFileEntry[] } }> {
  const sandboxPath = publicPath(namesOf(path));
  const entries = await inSandbox(context, run, async (sandbox) => {
    const found = await sandbox.list(path);
    const isHidden = sandboxPath === workspace ? await hiddenFiles(context, run) : () => false;
    return found.filter((entry) => !isHidden(entry.path));
  });
  if ('message' in entries) return { data: { sandboxStatus: entries.sandboxStatus, path: sandboxPath, entries: [] } };
  return { data: { sandboxStatus: entries.sandboxStatus, path: sandboxPath, entries: entries.value.map(fileEntry) } };
}

/** The content of a file. Throws 400 without a path, and whatever `Sandbox.read` throws. */
export async function content(context: RequestContext, run: RunRow, path: string | undefined): Promise<{ data: SandboxFileContent }> {
  if (path === undefined)
    throw new ServiceError(400, 'invalid_request', 'path is required.', { details: [{ path: 'path', message: 'is required' }] });
  const sandboxPath = publicPath(namesOf(path));
  const file = await inSandbox(context, run, (sandbox) => sandbox.read(path, inlineLimit));
  if ('message' in file) return { data: { ...file, path: sandboxPath, isTextFile: false, content: null, size: 0 } };
  const { entry, bytes, truncated } = file.value;
  const text = entry.isText ? decodeText(bytes, truncated) : undefined;
  const isComplete = text !== undefined && !truncated;
  const grant = { kind: 'sandbox_file' as const, sandboxId: run.sandbox_id, path: entry.path };
  return {
    data: {
      sandboxStatus: file.sandboxStatus,
      path: entry.path,
      isTextFile: text !== undefined,
      content: text ?? null,
      size: entry.size,
      ...(text === undefined ? {} : { encoding: 'utf-8' }),
      mime_type: entry.mimeType,
      truncated: text !== undefined && truncated,
      download_url: isComplete ? null : signedUrl(context, grant).url,
    },
  };
}

/** Which paths a listing of the workspace leaves out: the repository itself is not a file of the run. It can be listed by its name. */
export async function hiddenFiles({ engine }: RequestContext, run: RunRow): Promise<(path: string) => boolean> {
  const hasRepository = (await findRepository(engine.store, run.sandbox_id)) !== undefined;
  return (path) => hasRepository && path === `${workspace}/.git`;
}

/** Reads something from the sandbox, or returns why that is impossible. Errors of the caller are thrown. */
export async function inSandbox<Value>(
  { engine, teamId }: Pick<RequestContext, 'engine' | 'teamId'>,
  run: RunRow,
  read: (sandbox: SandboxFiles) => Promise<Value>,
): Promise<{ sandboxStatus: Status; value: Value } | Unreadable> {
  const notFound: Unreadable = { sandboxStatus: 'not_found', message: 'The sandbox of this run has been removed.' };
  const isGone = async (db: Queries): Promise<boolean> => (await findSandbox(db, teamId, run.sandbox_id)) === undefined;
  if (await isGone(engine.store)) return notFound;
  try {
    const sandbox = await engine.workspaces.files(run.sandbox_id);
    if (sandbox !== undefined) {
      const value = await read(sandbox);
      return { sandboxStatus: run.status === 'starting' || run.status === 'running' ? 'running' : 'paused', value };
    }
    if (!(await engine.workspaces.exists(run.sandbox_id))) return notFound;
  } catch (error) {
    // It was removed while it was being read, so this is not an error of the caller. Its folder is removed before that is committed, which
    // a transaction waits for.
    if (await engine.store.transaction().execute(isGone)) return notFound;
    if (error instanceof ServiceError) throw error;
    engine.log('error', 'a sandbox cannot be read', { sandbox: run.sandbox_id, ...errorFields(error) });
  }
  return { sandboxStatus: 'error', message: 'The sandbox of this run cannot be read.' };
}

/** The text of bytes, without any replacement; undefined if they are not text. A character that was cut off by truncation is left out. */
function decodeText(bytes: Uint8Array, truncated: boolean): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: truncated });
  } catch {
    return undefined;
  }
}

const fileEntry = (entry: SandboxEntry): SandboxFileEntry => ({
  name: entry.name,
  path: entry.path,
  type: entry.type,
  size: entry.size,
  modified_at: entry.modifiedAt.toISOString(),
  isTextFile: entry.isText,
});
