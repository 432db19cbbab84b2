/**
 * Receives the files of a run as one archive, which is an extension of the interface. An archive that breaks off is continued after the
 * last file that arrived. Whatever it does not deliver intact is left to the caller to request by itself.
 */
import { createHash } from 'node:crypto';
import { AopsError } from '../../base/errors.ts';
import { InvalidArchiveError } from '../../base/tar/tar-entry.ts';
import type { ReadFile } from '../../base/tar/tar-files.ts';
import { isObject, jsonValue } from '../../base/values.ts';
import { operation } from '../../interface/operations.ts';
import type { Client } from '../client.ts';
import { ServiceAnswerError, toNotOfferedError, UnavailableError, UnusableAnswerError } from '../errors.ts';
import { operationRequest } from '../request.ts';
import { retryPolicy } from '../retry-policy.ts';
import { tooDeep, tooManyFiles } from './local-names.ts';
import { mediaBody } from './media.ts';
import type { RunPlace, TreeFile } from './run-files.ts';

/** The name of the first entry, which lists the files. */
const listName = 'aops-files.json';
/** Maximum size of the list, and of a file that is received in an archive, in bytes. */
const maxListBytes = 64 * 1_048_576;
const maxFileBytes = 16 * 1_048_576;

/** A file with its content, which has the size and the checksum that the service reported. */
export interface ReceivedFile {
  path: string;
  content: readonly Uint8Array[];
  size: number;
}

export interface Archive {
  /** The folder in the sandbox to which the paths belong. */
  base: string;
  /** All files, including those that will not be received. */
  files: TreeFile[];
  /** The files that arrive intact. @throws UnavailableError, ServiceAnswerError, or the signal's reason */
  received: AsyncGenerator<ReceivedFile, void, undefined>;
}

/**
 * Requests an archive of a folder with everything in it, or of a file, and waits for its list. Undefined if the service does not offer
 * it, or refuses it: requests for the files themselves get the answer that says why.
 * @throws AopsError `too_many_files`, `too_deep`, UnavailableError, or the signal's reason
 */
export async function openArchive(client: Client, run: RunPlace, path: string, signal: AbortSignal): Promise<Archive | undefined> {
  const entries = continuedEntries(client, run, path, signal);
  try {
    const { value: first } = await entries.next();
    const content = first?.path === listName ? await contentOf(first, maxListBytes) : undefined;
    const list = content && parseList(content);
    if (list === undefined) throw new UnusableAnswerError({}, listName);
    return { ...list, received: intactFiles(entries) };
  } catch (error) {
    await entries.return();
    signal.throwIfAborted();
    if (!(error instanceof AopsError)) throw error;
    if (error.code === 'too_many_files') throw tooManyFiles();
    if (error.code === 'too_deep') throw tooDeep();
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

/** Whether another way of asking may succeed, or says more precisely what is wrong. */
const isRefusal = (error: AopsError): boolean =>
  error instanceof UnusableAnswerError || (error instanceof UnavailableError && error.final) || refusals.has(error.details.status);

const refusals = new Set<number | undefined>([400, 404, 405, 406, 409, 422, 501]);

/** The entries of an archive and of those that continue it. */
async function* continuedEntries(
  client: Client,
  { runId, agentId }: RunPlace,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<ReadFile, void, undefined> {
  // Commands that only may receive files start without the library.
  const { readTarFiles } = await import('../../base/tar/tar-files.ts');
  let after: string | undefined;
  for (let retry = 0; ; retry += 1) {
    const query = { path, ...(after === undefined ? {} : { after }) };
    const request =
      agentId === undefined
        ? operationRequest('getRunSandboxArchive', { params: { run_id: runId }, query })
        : operationRequest('getAgentRunSandboxArchive', { params: { agent_id: agentId, run_id: runId }, query });
    const abandonment = new AbortController();
    const source = new Source(client, request.path, AbortSignal.any([signal, abandonment.signal]));
    try {
      for await (const entry of readTarFiles(source)) {
        // The list of an archive that continues another one contains nothing new.
        if (entry.path !== listName || after === undefined) yield entry;
        if (entry.path === listName) continue;
        after = entry.path;
        retry = 0;
      }
      return;
    } catch (error) {
      signal.throwIfAborted();
      const outcome = source.failure ?? error;
      const failure = outcome instanceof InvalidArchiveError ? damagedArchive(outcome, request) : outcome;
      if (!isTemporary(failure) || retry >= retryPolicy.retries) throw toNotOfferedError('getRunSandboxArchive', failure);
      await client.backOff(retry, failure, signal);
    } finally {
      abandonment.abort(new Error('the archive is no longer read'));
    }
  }
}

/** The bytes of one response. Its failure is kept, because those who read the content of a file only see that it ends. */
class Source implements AsyncIterable<Uint8Array> {
  failure: unknown;
  readonly #body: AsyncIterable<Uint8Array>;

  constructor(client: Client, path: string, signal: AbortSignal) {
    const restart = async (): Promise<void> => undefined;
    this.#body = mediaBody(client, path, operation('getRunSandboxArchive').produces as string, signal, { once: true })(restart);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield* this.#body;
    } catch (error) {
      this.failure = error;
      throw error;
    }
  }
}

const damagedArchive = (error: InvalidArchiveError, { method, path }: { method: string; path: string }): UnavailableError =>
  new UnavailableError(
    `The files arrived damaged: ${error.message}.`,
    { method, path },
    error,
    'Run the command again. If this persists, something changes the data on its way from the service.',
  );

const isTemporary = (error: unknown): error is AopsError =>
  (error instanceof UnavailableError && !error.final) ||
  (error instanceof ServiceAnswerError && (error.status === 408 || error.status >= 500) && error.status !== 501);

async function* intactFiles(entries: AsyncGenerator<ReadFile, void, undefined>): AsyncGenerator<ReceivedFile, void, undefined> {
  for await (const entry of entries) {
    const { path, size, sha256 } = entry;
    const content = await contentOf(entry, maxFileBytes).catch(() => undefined);
    if (content === undefined) continue;
    const hash = createHash('sha256');
    for (const chunk of content) hash.update(chunk);
    if (hash.digest('hex') === sha256) yield { path, content, size };
  }
}

/** Undefined if there is too much. */
async function contentOf({ size, content }: ReadFile, maxBytes: number): Promise<Uint8Array[] | undefined> {
  if (size > maxBytes) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return chunks;
}

/** Undefined if it is not such a list. */
function parseList(content: readonly Uint8Array[]): { base: string; files: TreeFile[] } | undefined {
  const list = jsonValue(Buffer.concat(content).toString());
  if (!isObject(list) || typeof list.path !== 'string' || !Array.isArray(list.files)) return undefined;
  const files = list.files as unknown[];
  const isFile = (file: unknown): file is TreeFile => isObject(file) && typeof file.path === 'string' && typeof file.size === 'number';
  return files.every(isFile) ? { base: list.path, files: files.map(({ path, size }) => ({ path, size })) } : undefined;
}
