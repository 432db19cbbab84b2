/** Uploading files: short ones through the operation for it, longer ones to a signed URL, streamed with flat memory. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '../base/errors.ts';
import { retryPolicy } from './backoff.ts';
import type { Client } from './client.ts';
import { ServiceAnswerError, UnavailableError } from './errors.ts';
import { multipartForm } from './multipart.ts';
import { fillPath } from './request.ts';
import { failure, send } from './transport.ts';

/** Files up to this size are sent directly; larger ones go to a URL of their own (further groups, Sandboxes). */
export const directUploadLimit = 10_000_000;

/** What became of an uploaded file: its path in the sandbox, and its size. */
export interface UploadedFile {
  path: string;
  size_bytes: number;
}

/**
 * Uploads a local file to a sandbox, by the way its size asks for.
 * @throws ServiceAnswerError, UnavailableError, OutcomeUnknownError, or the signal's reason
 */
export async function upload(client: Client, sandboxId: string, file: string, target: string, signal: AbortSignal): Promise<UploadedFile> {
  const { size } = await stat(file);
  return size <= directUploadLimit
    ? uploadDirectly(client, sandboxId, file, target, signal)
    : uploadByUrl(client, sandboxId, { file, size }, target, signal);
}

async function uploadDirectly(client: Client, sandboxId: string, file: string, target: string, signal: AbortSignal): Promise<UploadedFile> {
  const { readFile } = await import('node:fs/promises');
  const { contentType, body } = multipartForm(
    { path: target },
    { name: 'file', filename: path.basename(file), content: await readFile(file) },
  );
  const response = await client.send(
    {
      method: 'POST',
      path: fillPath('/v2/sandboxes/{sandbox_id}/files', { sandbox_id: sandboxId }),
      headers: { 'content-type': contentType },
      body,
      mutates: true,
    },
    { signal },
  );
  return JSON.parse(response.body.toString('utf8')) as UploadedFile;
}

interface SizedFile {
  file: string;
  size: number;
}

async function uploadByUrl(
  client: Client,
  sandboxId: string,
  source: SizedFile,
  target: string,
  signal: AbortSignal,
): Promise<UploadedFile> {
  const granted = await client.call('createSandboxUploadUrl', { params: { sandbox_id: sandboxId }, body: { path: target } }, { signal });
  const url = new URL(granted.upload_url, client.baseUrl);
  // Putting the same bytes in the same place twice changes nothing, so every failure may be tried again.
  for (let retry = 0; ; retry += 1) {
    const failed = await put(client, url, source, signal);
    if (failed === undefined) return { path: granted.path, size_bytes: source.size };
    if (failed.final || retry >= retryPolicy.retries) throw failed.error;
    await client.backOff(retry, failed.error.message, signal);
  }
}

async function put(
  client: Client,
  url: URL,
  { file, size }: SizedFile,
  signal: AbortSignal,
): Promise<{ error: Error; final: boolean } | undefined> {
  const details = { method: 'PUT', path: url.pathname };
  try {
    const dispatcher = await client.dispatcher();
    const { statusCode, body } = await send(dispatcher, {
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'PUT',
      headers: { 'content-length': String(size), 'content-type': 'application/octet-stream' },
      body: createReadStream(file),
      signal,
      headersTimeout: retryPolicy.attemptMilliseconds,
      bodyTimeout: retryPolicy.attemptMilliseconds,
    });
    await body.dump();
    if (statusCode < 300) return undefined;
    const message = `${file} could not be uploaded: the service answered ${statusCode}.`;
    return { error: new ServiceAnswerError(statusCode, { error: 'upload_failed', message }, details), final: statusCode < 500 };
  } catch (error) {
    signal.throwIfAborted();
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH')
      throw new UsageError(`${file} changed while it was uploaded.`, 'Run the command again.');
    // A file that cannot be read; a socket that fails has `read` for its system call, too.
    if (syscall === 'open' || code === 'EISDIR' || code === 'EIO') throw error;
    const { reason, final } = failure(error);
    return { error: new UnavailableError(`${file} could not be uploaded: ${reason}.`, details, error), final };
  }
}
