/** The files of a run's sandbox: walking them, and reading one whatever its size or kind. */
import { Buffer } from 'node:buffer';
import { AopsError, exitCodes } from '../base/errors.ts';
import type { SandboxFileContent, SandboxFileEntry } from '../interface/types.ts';
import type { Client } from './client.ts';
import { download } from './download.ts';

/** The directory under which sandboxes show their files. */
export const workspace = '/workspace';

/** Every file below a path, folders before what is in them, in the service's order. */
export async function* walkRunFiles(
  client: Client,
  runId: string,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<SandboxFileEntry, void, undefined> {
  const { data } = await client.call('listRunSandboxFiles', { params: { run_id: runId }, query: { path } }, { signal });
  requireFiles(data.sandboxStatus, data.path);
  for (const entry of data.entries) {
    yield entry;
    if (entry.type === 'directory') yield* walkRunFiles(client, runId, entry.path, signal);
  }
}

/** What the service says of a file, with its text when it is short. */
export async function readRunFile(client: Client, runId: string, path: string, signal: AbortSignal): Promise<SandboxFileContent> {
  const { data } = await client.call('getRunSandboxFileContent', { params: { run_id: runId }, query: { path } }, { signal });
  requireFiles(data.sandboxStatus, data.path);
  return data;
}

/** All bytes of a file: the text that came with the answer when it is whole, else from its download URL. */
export async function* runFileBytes(
  client: Client,
  content: SandboxFileContent,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (content.content !== null && !content.truncated) {
    yield Buffer.from(content.content, content.encoding === 'base64' ? 'base64' : 'utf8');
  } else if (content.download_url) {
    yield* download(client, content.download_url, signal);
  } else {
    throw new AopsError(`The content of ${content.path} is not available${content.message ? `: ${content.message}` : '.'}`, {
      code: 'content_unavailable',
      exit: exitCodes.notFound,
    });
  }
}

function requireFiles(status: string, path: string): void {
  if (status === 'running' || status === 'paused') return;
  throw new AopsError(`The sandbox has no readable files at ${path}: its status is ${status}.`, {
    code: `sandbox_${status}`,
    exit: exitCodes.notFound,
  });
}
