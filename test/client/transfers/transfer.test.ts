import { createHash } from 'node:crypto';
import { writeFile as put, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { bearerCredential } from '../../../src/client/access/credential.ts';
import type { Client } from '../../../src/client/client.ts';
import { directUploadLimit, prepareUpload } from '../../../src/client/transfers/transfer.ts';
import { type Service, startService } from '../../../src/service/service.ts';
import { answer, json, noAnswer, raw, reply, type Step } from '../../faults/raw-server.ts';
import { temporaryFolder, whenDone } from '../../support/temporary.ts';
import { failureOf, newClient, scriptedServer } from '../harness.ts';

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
    await put(path.join(folder, 'short'), 'abc');
    await put(path.join(folder, 'direct'), Buffer.alloc(directUploadLimit, 'x'));
    await put(path.join(folder, 'long'), Buffer.alloc(directUploadLimit + 1, 'x'));
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
    const storedEntry = (await readdir(path.join(folder, 'service/sandboxes'), { recursive: true, withFileTypes: true })).find(
      ({ name }) => name === `${size}.bin`,
    );
    expect(digest(await readFile(path.join(storedEntry?.parentPath as string, `${size}.bin`)))).toBe(digest(content));
  });

  it('of a small file is one change, with the same bytes and key in every attempt', async () => {
    const server = await scriptedServer(
      noAnswer('reset', 'head'),
      json(500, { error: 'internal' }),
      json(201, { path: '/workspace/a', size_bytes: 3 }),
    );
    const file = path.join(folder, 'short');
    await upload(newClient(server.url).client, 's1', file, '/workspace/a');
    expect(new Set(server.header('idempotency-key')).size).toBe(1);
    expect(server.requests[2]?.body.equals(server.requests[1]?.body as Buffer)).toBe(true);
  });

  it.each(['', '.', '..', 'a\nb'])('into the sandbox %j is rejected', async (id) => {
    const server = await scriptedServer();
    const file = path.join(folder, 'short');
    expect(await failureOf(upload(newClient(server.url).client, id, file, '/workspace/a'))).toMatchObject({ exit: 2 });
    expect(server.requests).toHaveLength(0);
  });

  it('of a large file sends no credential to its URL, and is retried', async () => {
    const storage = await scriptedServer(noAnswer('reset', 'head'), answer(503, ''), answer(200, ''));
    const server = await scriptedServer(json(200, { upload_url: `${storage.url}/put?x=1`, path: '/workspace/a', expires_in_seconds: 60 }));
    const file = path.join(folder, 'long');
    const { client } = newClient(server.url);
    expect(await upload(client, 's1', file, '/workspace/a')).toEqual({ path: '/workspace/a', size_bytes: directUploadLimit + 1 });
    expect(storage.header('authorization')).toEqual([undefined, undefined, undefined]);
    expect(storage.requests.at(-1)?.body).toHaveLength(directUploadLimit + 1);
    expect(server.requests).toHaveLength(1);
  });

  it.each<[string, string, string]>([
    ['the largest size that goes directly', 'direct', '/v2/sandboxes/s1/files'],
    ['a larger size', 'long', '/v2/sandboxes/s1/upload-urls'],
  ])('of %s has the keys of its own request', async (_, name, target) => {
    const file = path.join(folder, name);
    const server = await scriptedServer();
    server.always(
      reply((request) =>
        request.method === 'PUT'
          ? answer(200, '')
          : json(201, { path: '/workspace/a', upload_url: `${server.url}/put`, expires_in_seconds: 60 }),
      ),
    );
    const { client } = newClient(server.url, { idempotencyKey: 'mine' });
    for (let count = 0; count < 2; count += 1) await upload(client, 's1', file, '/workspace/a');
    const changes = server.requests.filter(({ method }) => method === 'POST');
    const expected = newClient(server.url, { idempotencyKey: 'mine' }).client;
    const keys = [expected.reserveKeys('POST', target).key, expected.reserveKeys('POST', target).key];
    expect(changes.map((request) => [request.path, request.headers['idempotency-key']])).toEqual(keys.map((key) => [target, key]));
  });

  /** A client for a service that grants URLs at a storage with these steps. */
  const withStorage = async (...steps: Step[]) => {
    const storage = await scriptedServer(...steps);
    let grants = 0;
    const server = (await scriptedServer()).always(
      reply(() => {
        grants += 1;
        return json(200, { upload_url: `${storage.url}/${grants}?x=1`, path: '/workspace/a', expires_in_seconds: 60 });
      }),
    );
    return { storage, ...newClient(server.url) };
  };
  const large = () => path.join(folder, 'long');

  it.each<[number, string, number]>([
    [300, 'the service answered 300 with a redirect, and aops does not follow redirects.', 1],
    [399, 'the service answered 399 with a redirect, and aops does not follow redirects.', 1],
    [400, 'the service answered 400.', 1],
    [404, 'the service answered 404.', 1],
    [499, 'the service answered 499.', 1],
    [408, 'the service answered 408.', 4],
    [429, 'the service answered 429.', 4],
    [500, 'the service answered 500.', 4],
  ])('of a large file that is answered with %i fails with "%s" after %i attempts', async (status, message, attempts) => {
    const { storage, client, clock } = await withStorage();
    storage.always(answer(status, ''));
    const failure = await failureOf(upload(client, 's1', large(), '/workspace/a'));
    expect(failure).toMatchObject({ code: 'upload_failed', message: `${large()} could not be uploaded: ${message}`, status });
    expect(storage.requests.map((request) => request.path)).toEqual(Array.from({ length: attempts }, () => '/1?x=1'));
    expect(clock.waitTimes).toHaveLength(attempts - 1);
  });

  it('of a large file fails if it cannot be sent', async () => {
    const { storage, client } = await withStorage();
    storage.always(noAnswer('reset', 'head'));
    const failure = await failureOf(upload(client, 's1', large(), '/workspace/a'));
    expect(failure).toMatchObject({
      code: 'service_unavailable',
      message: expect.stringContaining('could not be uploaded: the connection'),
    });
    expect(storage.requests).toHaveLength(4);
    const foreign = await withStorage(raw('SSH-2.0-OpenSSH_9.6\r\n', 'close'));
    expect(await failureOf(upload(foreign.client, 's1', large(), '/workspace/a'))).toMatchObject({ exit: 8 });
    expect(foreign.storage.requests).toHaveLength(1);
  });

  it('of a large file fails if its second URL is refused, too', async () => {
    const { storage, client } = await withStorage(answer(503, ''), answer(403, ''), answer(403, ''));
    expect(await failureOf(upload(client, 's1', large(), '/workspace/a'))).toMatchObject({ code: 'upload_failed', status: 403 });
    expect(storage.requests.map((request) => request.path)).toEqual(['/1?x=1', '/1?x=1', '/2?x=1']);
  });

  it.each([
    ['shorter', -1],
    ['longer', 1],
  ])('of a large file that got %s is rejected', async (_, difference) => {
    const { client } = await withStorage(answer(200, ''));
    const size = directUploadLimit + 1 - difference;
    const run = prepareUpload(client, 's1', { file: large(), size, target: '/workspace/a' });
    expect(await failureOf(run({ signal }))).toMatchObject({ exit: 2, message: expect.stringContaining('changed while') });
  });

  it.each([
    ['ENOENT', () => path.join(folder, 'missing')],
    ['EISDIR', () => folder],
  ])('of a large file that cannot be read fails with %s, and is not retried', async (code, file) => {
    const { client, clock } = await withStorage(answer(200, ''));
    const run = prepareUpload(client, 's1', { file: file(), size: directUploadLimit + 1, target: '/workspace/a' });
    expect(await failureOf(run({ signal }))).toMatchObject({ code });
    expect(clock.waitTimes).toEqual([]);
  });

  it('of a large file ends with the reason of its signal', async () => {
    const { storage, client } = await withStorage(noAnswer('stall'));
    const controller = new AbortController();
    const run = prepareUpload(client, 's1', { file: large(), size: directUploadLimit + 1, target: '/workspace/a' });
    const failurePromise = failureOf(run({ signal: controller.signal }));
    await storage.until(({ requests }) => requests.length === 1);
    const reason = new Error('enough');
    controller.abort(reason);
    expect(await failurePromise).toBe(reason);
  });

  it('of a large file that is refused fails once', async () => {
    const storage = await scriptedServer(answer(403, ''));
    const server = await scriptedServer(json(200, { upload_url: `${storage.url}/put`, path: '/workspace/a', expires_in_seconds: 60 }));
    expect(await failureOf(upload(newClient(server.url).client, 's1', path.join(folder, 'long'), '/workspace/a'))).toMatchObject({
      exit: 5,
      code: 'upload_failed',
    });
    expect(storage.requests).toHaveLength(1);
  });

  it('of a large file requests another URL when the first expires between attempts', async () => {
    const storage = await scriptedServer(answer(503, ''), answer(403, ''), answer(200, ''));
    const grantAnswer = (name: string) => json(200, { upload_url: `${storage.url}/${name}`, path: '/workspace/a', expires_in_seconds: 60 });
    const server = await scriptedServer(grantAnswer('first'), grantAnswer('second'));
    await upload(newClient(server.url).client, 's1', path.join(folder, 'long'), '/workspace/a');
    expect(storage.requests.map((request) => request.path)).toEqual(['/first', '/first', '/second']);
    expect(new Set(server.header('idempotency-key')).size).toBe(2);
  });

  it('of a small file reports its bytes when it has arrived', async () => {
    const server = await scriptedServer(json(500, { error: 'internal' }), json(201, { path: '/workspace/a', size_bytes: 3 }));
    const counts: number[] = [];
    const run = prepareUpload(newClient(server.url).client, 's1', { file: path.join(folder, 'short'), size: 3, target: '/workspace/a' });
    await run({ signal, onBytes: (count) => counts.push(count) });
    expect(counts).toEqual([3]);
  });

  it('of a large file reports the bytes sent, and takes back those that have to be sent again', async () => {
    const storage = await scriptedServer(noAnswer('reset'), answer(503, '', { 'retry-after': '7' }), answer(200, ''));
    const server = await scriptedServer(json(200, { upload_url: `${storage.url}/put`, path: '/workspace/a', expires_in_seconds: 60 }));
    const { client, clock } = newClient(server.url);
    const counts: number[] = [];
    const size = directUploadLimit + 1;
    const run = prepareUpload(client, 's1', { file: path.join(folder, 'long'), size, target: '/workspace/a' });
    await run({ signal, onBytes: (count) => counts.push(count) });
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(size);
    expect(counts).toContain(-size);
    expect(clock.waitTimes).toHaveLength(2);
    expect(clock.waitTimes[1]).toBeGreaterThanOrEqual(7_000);
  });

  it('is not redirected', async () => {
    const otherServer = await scriptedServer();
    const storage = await scriptedServer(answer(307, '', { location: `${otherServer.url}/` }));
    const server = await scriptedServer(json(200, { upload_url: `${storage.url}/put`, path: '/workspace/a', expires_in_seconds: 60 }));
    const uploadFailure = upload(newClient(server.url).client, 's1', path.join(folder, 'long'), '/workspace/a');
    expect(await failureOf(uploadFailure)).toMatchObject({
      code: 'upload_failed',
      message: expect.stringContaining('does not follow redirects'),
    });
    expect(otherServer.connections).toBe(0);
  });

  it.each([
    ['shorter', -1],
    ['longer', 1],
  ])('of a file that got %s is rejected', async (_, difference) => {
    const server = await scriptedServer();
    const file = path.join(folder, 'changing');
    await put(file, 'abc');
    const run = prepareUpload(newClient(server.url).client, 's1', { file, size: 3 - difference, target: '/workspace/a' });
    expect(await failureOf(run({ signal }))).toMatchObject({ exit: 2, message: expect.stringContaining('changed while') });
    expect(server.requests).toHaveLength(0);
  });

  it('has the key of its place in the order, whichever is sent first', async () => {
    const file = path.join(folder, 'short');
    const keysOf = async (order: readonly number[]): Promise<Record<string, string>> => {
      const server = (await scriptedServer()).always(json(201, { path: '/workspace/a', size_bytes: 3 }));
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
    const server = await scriptedServer(json(200, { upload_url, path: '/workspace/a', expires_in_seconds: 60 }));
    const uploadFailure = upload(newClient(server.url).client, 's1', path.join(folder, 'long'), '/workspace/a');
    const error = await failureOf(uploadFailure);
    expect(error).toMatchObject({ code: 'unsafe_url' });
    expect(error.message).not.toContain('secret');
  });
});
