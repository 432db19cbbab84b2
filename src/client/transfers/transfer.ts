/** Uploads files: small ones through an operation, larger ones to a signed URL, streamed with constant memory. */
import fs, { createReadStream, type ReadStream } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { type AopsError, UsageError } from '../../base/errors.ts';
import type { Input } from '../../interface/types.ts';
import type { CallOptions, Client } from '../client.ts';
import { ServiceAnswerError, UnavailableError } from '../errors.ts';
import type { ResponseHeaders } from '../limits/rate-limit.ts';
import { fillPath, operationRequest } from '../request.ts';
import { retryPolicy } from '../retry-policy.ts';
import { failure, send } from '../transport.ts';
import { multipartForm } from './multipart.ts';
import { printablePath, signedUrl } from './signed-url.ts';

/** Files up to this size in bytes are sent directly; larger ones go to a URL of their own (further groups, Sandboxes). */
export const directUploadLimit = 10_000_000;

/** Bytes read from a file at a time. */
const readSize = 256 * 1024;

/** A local file, and where to upload it. */
export interface LocalUpload {
  file: string;
  size: number;
  /** Path in the sandbox. */
  target: string;
}

/** An uploaded file: its path in the sandbox, and its size. */
export interface UploadedFile {
  path: string;
  size_bytes: number;
}

export interface UploadOptions {
  signal: AbortSignal;
  /** Called with the number of sent bytes; negative when some have to be sent again. */
  onBytes?: (count: number) => void;
}

/**
 * Prepares an upload by the method that suits its size. Its idempotency key is reserved here, so uploads that are prepared in
 * the same order have the same keys, in whatever order they are carried out. The returned function carries it out.
 * @throws UsageError for an invalid ID; the function throws ServiceAnswerError, UnavailableError, OutcomeUnknownError, UsageError
 *   when the file changes meanwhile, or the signal's reason
 */
export function prepareUpload(client: Client, sandboxId: string, upload: LocalUpload): (options: UploadOptions) => Promise<UploadedFile> {
  const direct = upload.size <= directUploadLimit;
  const input = { params: { sandbox_id: sandboxId }, body: { path: upload.target } };
  const { method, path: target } = direct
    ? { method: 'POST', path: fillPath('/v2/sandboxes/{sandbox_id}/files', input.params) }
    : operationRequest('createSandboxUploadUrl', input);
  const keys = client.reserveKeys(method, target);
  return (options) => (direct ? uploadDirectly(client, target, upload, keys, options) : uploadByUrl(client, input, upload, keys, options));
}

type Keys = NonNullable<CallOptions['keys']>;

async function uploadDirectly(
  client: Client,
  url: string,
  { file, size, target }: LocalUpload,
  keys: Keys,
  { signal, onBytes }: UploadOptions,
): Promise<UploadedFile> {
  const { contentType, body } = await multipartForm(
    { path: target },
    { name: 'file', filename: path.basename(file), size, read: (buffer) => readWhole(file, buffer) },
  );
  const request = { method: 'POST', path: url, headers: { 'content-type': contentType }, body, mutates: true };
  const response = await client.send(request, { signal, keys });
  onBytes?.(size);
  return JSON.parse(response.body.toString('utf8')) as UploadedFile;
}

/** Fills the buffer with the file, which must have exactly this length. */
async function readWhole(file: string, buffer: Uint8Array): Promise<void> {
  const handle = await fs.promises.open(file);
  try {
    let filledLength = 0;
    while (filledLength < buffer.length) {
      const { bytesRead } = await handle.read(buffer, filledLength, buffer.length - filledLength, filledLength);
      if (bytesRead === 0) break;
      filledLength += bytesRead;
    }
    if (filledLength !== buffer.length || (await handle.stat()).size !== buffer.length) throw changedFile(file);
  } finally {
    await handle.close();
  }
}

export const changedFile = (file: string): UsageError => new UsageError(`${file} changed while it was uploaded.`, 'Run the command again.');

async function uploadByUrl(
  client: Client,
  input: Input<'createSandboxUploadUrl'>,
  source: LocalUpload,
  keys: Keys,
  options: UploadOptions,
): Promise<UploadedFile> {
  let grant = await client.call('createSandboxUploadUrl', input, { signal: options.signal, keys });
  // Uploading the same bytes to the same place twice has no effect, so every failure can be retried.
  for (let retry = 0; ; retry += 1) {
    const failure = await put(client, signedUrl(client.baseUrl, grant.upload_url), source, options);
    if (failure === undefined) return { path: grant.path, size_bytes: source.size };
    if (retry > 0 && failure.forbidden) {
      // The URL expired during the attempts; another one is requested once, under a key of its own.
      grant = await client.call('createSandboxUploadUrl', input, { signal: options.signal });
      const result = await put(client, signedUrl(client.baseUrl, grant.upload_url), source, options);
      if (result === undefined) return { path: grant.path, size_bytes: source.size };
      throw result.error;
    }
    if (failure.final || retry >= retryPolicy.retries) throw failure.error;
    await client.backOff(retry, failure.error, options.signal, failure.headers);
  }
}

interface FailedPut {
  error: AopsError;
  /** Whether trying again is pointless. */
  final: boolean;
  /** Whether the URL is invalid or has expired. */
  forbidden?: boolean;
  headers?: ResponseHeaders;
}

async function put(
  client: Client,
  url: URL,
  { file, size }: LocalUpload,
  { signal, onBytes }: UploadOptions,
): Promise<FailedPut | undefined> {
  const details = { method: 'PUT', path: printablePath(url) };
  const source: { stream?: ReadStream } = {};
  let sentBytes = 0;
  const content = async function* (): AsyncGenerator<Buffer, void, undefined> {
    // Opened only now that it is read: otherwise nothing would handle its errors while there is no connection yet.
    source.stream = createReadStream(file, { highWaterMark: readSize });
    for await (const chunk of source.stream as AsyncIterable<Buffer>) {
      sentBytes += chunk.length;
      onBytes?.(chunk.length);
      yield chunk;
    }
  };
  let isDone = false;
  try {
    const dispatcher = await client.dispatcher();
    const { statusCode, headers, body } = await send(dispatcher, {
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'PUT',
      headers: { 'content-length': String(size), 'content-type': 'application/octet-stream' },
      body: Readable.from(content()),
      signal,
      headersTimeout: retryPolicy.attemptMilliseconds,
      bodyTimeout: retryPolicy.attemptMilliseconds,
    });
    await body.dump();
    isDone = statusCode < 300;
    return isDone ? undefined : refusedUpload(statusCode, headers, file, details);
  } catch (error) {
    signal.throwIfAborted();
    if (source.stream?.errored) throw source.stream.errored;
    if ((error as NodeJS.ErrnoException).code === 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH') throw changedFile(file);
    const { reason, final } = failure(error);
    return { error: new UnavailableError(`${file} could not be uploaded: ${reason}.`, details, error), final };
  } finally {
    if (!isDone) onBytes?.(-sentBytes);
  }
}

function refusedUpload(status: number, headers: ResponseHeaders, file: string, details: { method: string; path: string }): FailedPut {
  const redirect = status >= 300 && status < 400 ? ' with a redirect, and aops does not follow redirects' : '';
  const message = `${file} could not be uploaded: the service answered ${status}${redirect}.`;
  const final = status !== 408 && status !== 429 && status < 500;
  return { error: new ServiceAnswerError(status, { error: 'upload_failed', message }, details), final, forbidden: status === 403, headers };
}
