/** The files of a run's sandbox: listing them, and reading one of any size or kind. */
import { Buffer } from 'node:buffer';
import { AopsError, exitCodes } from '../../base/errors.ts';
import { Slots } from '../../base/slots.ts';
import type { SandboxFileContent, SandboxFileEntry } from '../../interface/types.ts';
import type { Client } from '../client.ts';
import { UnusableAnswerError } from '../errors.ts';
import { type DownloadOptions, download } from './download.ts';
import { fileChanged } from './download-answer.ts';
import { tooDeep, tooManyFiles, treeLimits } from './local-names.ts';

/** The directory in which sandboxes have their files. */
export const workspace = '/workspace';

/** Maximum number of concurrent requests of one command that lists or transfers many files. */
export const parallelTransfers = 6;

/** The run whose files are meant; with an agent, only if the run belongs to it. */
export interface RunPlace {
  runId: string;
  agentId?: string | undefined;
}

/** A file of a run's sandbox, as listed. */
export interface TreeFile {
  /** In the sandbox. */
  path: string;
  size: number;
  /** ISO 8601, if the service reports it. */
  modifiedAt?: string;
  /** The content that the service has just returned, if it was requested. */
  content?: SandboxFileContent;
}

/**
 * The entries of a folder.
 * @throws ServiceAnswerError `not_a_directory` for a file; AopsError `sandbox_not_found` and others for a sandbox without readable files
 */
export async function listRunFolder(
  client: Client,
  { runId, agentId }: RunPlace,
  path: string,
  signal: AbortSignal,
): Promise<{ path: string; entries: SandboxFileEntry[] }> {
  const [query, options] = [{ path }, { signal }];
  const { data } =
    agentId === undefined
      ? await client.call('listRunSandboxFiles', { params: { run_id: runId }, query }, options)
      : await client.call('listAgentRunSandboxFiles', { params: { agent_id: agentId, run_id: runId }, query }, options);
  requireFiles(data.sandboxStatus, data.path);
  if (!Array.isArray(data.entries)) throw new UnusableAnswerError({ status: 200 }, 'the list "entries"');
  return data;
}

/**
 * Every file below a folder, in the service's order, with the contents of a folder in its place. Folders are listed concurrently.
 * @throws ServiceAnswerError `not_a_directory` for a file; AopsError `too_many_files`, `too_deep`
 */
export async function listRunTree(
  client: Client,
  run: RunPlace,
  path: string,
  signal: AbortSignal,
): Promise<{ base: string; files: TreeFile[] }> {
  const failureController = new AbortController();
  const combinedSignal = AbortSignal.any([signal, failureController.signal]);
  const slots = new Slots(parallelTransfers);
  const seenFolders = new Set<string>();
  let base = path;
  let count = 0;
  const listBelow = async (folder: string, depth: number): Promise<TreeFile[]> => {
    // A folder that contains itself would be listed forever.
    if (depth > treeLimits.depth || seenFolders.has(folder)) throw tooDeep();
    seenFolders.add(folder);
    const data = await slots.run(() => listRunFolder(client, run, folder, combinedSignal));
    if (depth === 0) base = data.path;
    count += data.entries.length;
    if (count > treeLimits.files) throw tooManyFiles();
    const parts = data.entries.map(async ({ path: inside, type, size, modified_at: modifiedAt }) =>
      type === 'directory' ? listBelow(inside, depth + 1) : [{ path: inside, size, ...(modifiedAt == null ? {} : { modifiedAt }) }],
    );
    return (await Promise.all(parts)).flat();
  };
  try {
    return { files: await listBelow(path, 0), base };
  } catch (error) {
    failureController.abort(error);
    throw error;
  }
}

/** The metadata of a file, with its text if it is short. */
export async function readRunFile(
  client: Client,
  { runId, agentId }: RunPlace,
  path: string,
  signal: AbortSignal,
): Promise<SandboxFileContent> {
  const [query, options] = [{ path }, { signal }];
  const { data } =
    agentId === undefined
      ? await client.call('getRunSandboxFileContent', { params: { run_id: runId }, query }, options)
      : await client.call('getAgentRunSandboxFileContent', { params: { agent_id: agentId, run_id: runId }, query }, options);
  requireFiles(data.sandboxStatus, data.path);
  return data;
}

/**
 * All bytes of a file: the text in the response if it is complete, or else the content of its download URL.
 * @throws AopsError `content_unavailable`, and what `download` throws
 */
export async function* runFileBytes(
  client: Client,
  content: SandboxFileContent,
  options: DownloadOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const inline = content.content === null || content.truncated ? undefined : inlineBytes(content.content, content.encoding);
  // Text that was converted by the service is not identical to the file.
  if (inline && (inline.length === content.size || !content.download_url)) {
    if (inline.length !== content.size) throw fileChanged(content.size, inline.length, {});
    yield inline;
  } else if (content.download_url) {
    yield* download(client, content.download_url, { size: content.size, ...options });
  } else {
    throw new AopsError(`The content of ${content.path} is not available${content.message ? `: ${content.message}` : '.'}`, {
      code: 'content_unavailable',
      exit: exitCodes.notFound,
    });
  }
}

const inlineBytes = (text: string, encoding: string | undefined): Uint8Array =>
  Buffer.from(text, encoding === 'base64' ? 'base64' : 'utf8');

/** A service that leaves out the status is believed to have the files that it lists. */
function requireFiles(status: string | undefined, path: string): void {
  if (typeof status !== 'string' || status === 'running' || status === 'paused') return;
  if (status === 'not_found')
    throw new AopsError('The files of this run no longer exist, because its sandbox was removed.', {
      code: 'sandbox_not_found',
      exit: exitCodes.notFound,
      hint: 'Its messages are still available: `aops runs messages RUN`.',
    });
  throw new AopsError(`The sandbox has no readable files at ${path}: its status is ${status}.`, {
    code: `sandbox_${status}`,
    exit: exitCodes.unavailable,
  });
}
