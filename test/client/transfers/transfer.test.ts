import { createHash } from 'node:crypto';
import { writeFile as put, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { bearerCredential } from '../../../src/client/access/credential.ts';
import type { Client } from '../../../src/client/client.ts';
import { directUploadLimit, prepareUpload } from '../../../src/client/transfers/transfer.ts';
import { type Service, startService } from '../../../src/service/service.ts';
import { answer, json, nothing } from '../../faults/raw-server.ts';
import { temporaryFolder, whenDone } from '../../support/temporary.ts';
import { failureOf, newClient, scripted } from '../harness.ts';

const { signal } = new AbortController();

/** Uploads a file with its current content. */
async function upload(client: Client, sandboxId: string, file: string, target: string) {
  return prepareUpload(client, sandboxId, { file, target, size: (await stat(file)).size })({ signal });
}

describe('an upload', () => {
  let service: Service;
  let folder: string;
  beforeAll(async () => {
    folder = await temporaryFolder();
    service = await startService({ dataDirectory: path.join(folder, 'service'), exec: 'off' });
    whenDone(() => service.close());
  });

  const digest = (content: Uint8Array) => createHash('sha256').update(content).digest('hex');

  it.each([
    ['nothing', 0],
    ['as much as goes directly', directUploadLimit],
    ['more than goes directly', directUploadLimit + 1],
  ])('of %s arrives completely', async (_, size) => {
    const content = Buffer.alloc(size, 'content of a file, ');
    const file = path.join(folder, `${size}.bin`);
    await put(file, content);
    const { client } = newClient(service.url, { credential: bearerCredential(service.token) });
    const { sandbox_id } = await client.call('createSandbox', {});
    expect(await upload(client, sandbox_id, file, `/workspace/in/${size}.bin`)).toEqual({
      path: `/workspace/in/${size}.bin`,
      size_bytes: size,
    });
    expect((await client.call('listSandboxFiles', { params: { sandbox_id }, query: { path: '/workspace/in' } })).files).toMatchObject([
      { path: `/workspace/in/${size}.bin`, size_bytes: size },
    ]);
    const stored = (await readdir(path.join(folder, 'service/sandboxes'), { recursive: true, withFileTypes: true })).find(
      ({ name }) => name === `${size}.bin`,
    );
    expect(digest(await readFile(path.join(stored?.parentPath as string, `${size}.bin`)))).toBe(digest(content));
  });

  it('of a small file is one change, with the same bytes and key in every attempt', async () => {
    const server = await scripted(
      nothing('reset', 'head'),
      json(500, { error: 'internal' }),
      json(201, { path: '/workspace/a', size_bytes: 3 }),
    );
    const file = path.join(folder, 'short');
    await put(file, 'abc');
    await upload(newClient(server.url).client, 's1', file, '/workspace/a');
    expect(new Set(server.header('idempotency-key')).size).toBe(1);
    expect(server.requests[2]?.body.equals(server.requests[1]?.body as Buffer)).toBe(true);
  });

  it.each(['', '.', '..', 'a\nb'])('into the sandbox %j is rejected', async (id) => {
    const server = await scripted();
    const file = path.join(folder, 'short');
    await put(file, 'abc');
    expect(await failureOf(upload(newClient(server.url).client, id, file, '/workspace/a'))).toMatchObject({ exit: 2 });
    expect(server.requests).toHaveLength(0);
  });

  it('of a large file sends no credential to its URL, and is retried', async () => {
    const storage = await scripted(nothing('reset', 'head'), answer(503, ''), answer(200, ''));
    const server = await scripted(json(200, { upload_url: `${storage.url}/put?x=1`, path: '/workspace/a', expires_in_seconds: 60 }));
    const file = path.join(folder, 'long');
    await put(file, Buffer.alloc(directUploadLimit + 1, 'x'));
    const { client } = newClient(server.url);
    expect(await upload(client, 's1', file, '/workspace/a')).toEqual({ path: '/workspace/a', size_bytes: directUploadLimit + 1 });
    expect(storage.header('authorization')).toEqual([undefined, undefined, undefined]);
    expect(storage.requests.at(-1)?.body).toHaveLength(directUploadLimit + 1);
    expect(server.requests).toHaveLength(1);
  });

  it('of a large file that is refused fails once', async () => {
    const storage = await scripted(answer(403, ''));
    const server = await scripted(json(200, { upload_url: `${storage.url}/put`, path: '/workspace/a', expires_in_seconds: 60 }));
    expect(await failureOf(upload(newClient(server.url).client, 's1', path.join(folder, 'long'), '/workspace/a'))).toMatchObject({
      exit: 5,
      code: 'upload_failed',
    });
    expect(storage.requests).toHaveLength(1);
  });

  it('of a large file requests another URL when the first expires between attempts', async () => {
    const storage = await scripted(answer(503, ''), answer(403, ''), answer(200, ''));
    const granted = (name: string) => json(200, { upload_url: `${storage.url}/${name}`, path: '/workspace/a', expires_in_seconds: 60 });
    const server = await scripted(granted('first'), granted('second'));
    await upload(newClient(server.url).client, 's1', path.join(folder, 'long'), '/workspace/a');
    expect(storage.requests.map((request) => request.path)).toEqual(['/first', '/first', '/second']);
    expect(new Set(server.header('idempotency-key')).size).toBe(2);
  });

  it('of a large file reports the bytes sent, and takes back those that have to be sent again', async () => {
    const storage = await scripted(answer(503, '', { 'retry-after': '7' }), answer(200, ''));
    const server = await scripted(json(200, { upload_url: `${storage.url}/put`, path: '/workspace/a', expires_in_seconds: 60 }));
    const { client, clock } = newClient(server.url);
    const counts: number[] = [];
    const size = directUploadLimit + 1;
    const run = prepareUpload(client, 's1', { file: path.join(folder, 'long'), size, target: '/workspace/a' });
    await run({ signal, onBytes: (count) => counts.push(count) });
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(size);
    expect(counts).toContain(-size);
    expect(clock.waits).toHaveLength(1);
    expect(clock.waits[0]).toBeGreaterThanOrEqual(7_000);
  });

  it('is not redirected', async () => {
    const otherServer = await scripted();
    const storage = await scripted(answer(307, '', { location: `${otherServer.url}/` }));
    const server = await scripted(json(200, { upload_url: `${storage.url}/put`, path: '/workspace/a', expires_in_seconds: 60 }));
    const failed = upload(newClient(server.url).client, 's1', path.join(folder, 'long'), '/workspace/a');
    expect(await failureOf(failed)).toMatchObject({ code: 'upload_failed', message: expect.stringContaining('does not follow redirects') });
    expect(otherServer.connections).toBe(0);
  });

  it.each([
    ['shorter', -1],
    ['longer', 1],
  ])('of a file that got %s is rejected', async (_, difference) => {
    const server = await scripted();
    const file = path.join(folder, 'changing');
    await put(file, 'abc');
    const run = prepareUpload(newClient(server.url).client, 's1', { file, size: 3 - difference, target: '/workspace/a' });
    expect(await failureOf(run({ signal }))).toMatchObject({ exit: 2, message: expect.stringContaining('changed while') });
    expect(server.requests).toHaveLength(0);
  });

  it('has the key of its place in the order, whichever is sent first', async () => {
    const file = path.join(folder, 'short');
    await put(file, 'abc');
    const keysOf = async (order: readonly number[]): Promise<Record<string, string>> => {
      const server = (await scripted()).always(json(201, { path: '/workspace/a', size_bytes: 3 }));
      const { client } = newClient(server.url, { idempotencyKey: 'mine' });
      const uploads = ['a', 'b', 'c'].map((name) => prepareUpload(client, 's1', { file, size: 3, target: `/workspace/${name}` }));
      for (const index of order) await uploads[index]?.({ signal });
      const targetOf = (body: Buffer): string => /\/workspace\/(\w)/.exec(body.toString())?.[1] ?? '';
      return Object.fromEntries(server.requests.map(({ body, headers }) => [targetOf(body), headers['idempotency-key'] ?? '']));
    };
    const forwards = await keysOf([0, 1, 2]);
    expect(await keysOf([2, 0, 1])).toEqual(forwards);
    expect(forwards.a).toBe('mine');
    expect(new Set(Object.values(forwards)).size).toBe(3);
  });

  it.each([
    'https://user:secret@storage.test/put',
    'http://storage.test/put',
    'http://127.storage.test/put',
    'file:///etc/passwd',
    'http://[',
  ])('is not sent to %s', async (upload_url) => {
    const server = await scripted(json(200, { upload_url, path: '/workspace/a', expires_in_seconds: 60 }));
    const failed = upload(newClient(server.url).client, 's1', path.join(folder, 'long'), '/workspace/a');
    const error = await failureOf(failed);
    expect(error).toMatchObject({ code: 'unsafe_url' });
    expect(error.message).not.toContain('secret');
  });
});
