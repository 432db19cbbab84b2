/** Moving file contents: signed URLs in both directions, without a credential, streamed with flat memory. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Client } from './client.ts';
import { ServiceAnswerError, UnavailableError } from './errors.ts';
import { queryString } from './request.ts';

/** Files up to this size are sent directly; larger ones go to a URL of their own (further groups, Sandboxes). */
export const directUploadLimit = 10_000_000;

/** Opens a signed URL. The service gives it relative to itself or absolute. */
export async function* download(client: Client, url: string, signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
  const { origin, pathname, search } = new URL(url, client.baseUrl);
  const details = { method: 'GET', path: pathname };
  const dispatcher = await client.dispatcher();
  const { statusCode, headers, body } = await dispatcher.request({ origin, path: pathname + search, method: 'GET', signal });
  if (statusCode !== 200) {
    await body.dump();
    throw new ServiceAnswerError(
      statusCode,
      { error: 'download_failed', message: `The file could not be downloaded: the service answered ${statusCode}.` },
      details,
    );
  }
  const expected = Number(headers['content-length'] ?? Number.NaN);
  let received = 0;
  for await (const chunk of body) {
    received += (chunk as Uint8Array).length;
    yield chunk as Uint8Array;
  }
  if (!Number.isNaN(expected) && received !== expected) {
    throw new UnavailableError(`The download ended after ${received} of ${expected} bytes.`, details);
  }
}

/** Uploads a local file to a sandbox, by the way its size asks for. Returns its path there. */
export async function upload(
  client: Client,
  sandboxId: string,
  file: string,
  target: string,
  signal: AbortSignal,
): Promise<{ path: string; size_bytes: number }> {
  const { size } = await stat(file);
  return size <= directUploadLimit
    ? uploadDirectly(client, sandboxId, file, target, signal)
    : uploadByUrl(client, sandboxId, file, size, target, signal);
}

async function uploadDirectly(
  client: Client,
  sandboxId: string,
  file: string,
  target: string,
  signal: AbortSignal,
): Promise<{ path: string; size_bytes: number }> {
  const form = new FormData();
  form.set('path', target);
  form.set('file', new Blob([await readWhole(file)]), path.basename(file));
  const encoded = new Response(form);
  const response = await client.send(
    {
      method: 'POST',
      path: `/v2/sandboxes/${encodeURIComponent(sandboxId)}/files${queryString()}`,
      headers: { 'content-type': encoded.headers.get('content-type') as string },
      body: new Uint8Array(await encoded.arrayBuffer()),
      mutates: true,
    },
    { signal },
  );
  return JSON.parse(response.body.toString('utf8')) as { path: string; size_bytes: number };
}

async function readWhole(file: string): Promise<Uint8Array<ArrayBuffer>> {
  const { readFile } = await import('node:fs/promises');
  return new Uint8Array(await readFile(file));
}

async function uploadByUrl(
  client: Client,
  sandboxId: string,
  file: string,
  size: number,
  target: string,
  signal: AbortSignal,
): Promise<{ path: string; size_bytes: number }> {
  const granted = await client.call('createSandboxUploadUrl', { params: { sandbox_id: sandboxId }, body: { path: target } }, { signal });
  const { origin, pathname, search } = new URL(granted.upload_url, client.baseUrl);
  const dispatcher = await client.dispatcher();
  const { statusCode, body } = await dispatcher.request({
    origin,
    path: pathname + search,
    method: 'PUT',
    headers: { 'content-length': String(size), 'content-type': 'application/octet-stream' },
    body: createReadStream(file),
    signal,
  });
  await body.dump();
  if (statusCode >= 300) {
    const message = `${file} could not be uploaded: the service answered ${statusCode}.`;
    throw new ServiceAnswerError(statusCode, { error: 'upload_failed', message }, { method: 'PUT', path: pathname });
  }
  return { path: granted.path, size_bytes: size };
}
