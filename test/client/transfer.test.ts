import { createHash } from 'node:crypto';
import { writeFile as put, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { bearerCredential } from '../../src/client/credential.ts';
import { download } from '../../src/client/download.ts';
import { writeFile } from '../../src/client/local-files.ts';
import { directUploadLimit, upload } from '../../src/client/transfer.ts';
import { type Service, startService } from '../../src/service/service.ts';
import { answer, json, nothing, partial, type RawServer } from '../faults/raw-server.ts';
import { temporaryFolder, whenDone } from '../support/temporary.ts';
import { failureOf, newClient, scripted } from './harness.ts';

const { signal } = new AbortController();

/** Downloads `/files/1` of a server into a folder. */
async function fetched(server: RawServer, url = '/files/1') {
  const folder = await temporaryFolder();
  const { client, clock } = newClient(server.url);
  const target = path.join(folder, 'file');
  const result = await writeFile(target, download(client, url, signal), false).then(
    () => undefined,
    (error: unknown) => error as Record<string, unknown>,
  );
  const names = await readdir(folder);
  return { error: result, names, content: names.includes('file') ? await readFile(target, 'utf8') : undefined, waits: clock.waits };
}

const tagged = { etag: '"v1"', 'content-type': 'text/plain' };

describe('a download', () => {
  it('carries no credential, and streams what is there', async () => {
    const server = await scripted(answer(200, 'content'));
    const { content } = await fetched(server, '/files/1?signature=x%2By');
    expect(content).toBe('content');
    expect(server.requests[0]).toMatchObject({ method: 'GET', path: '/files/1?signature=x%2By' });
    expect(server.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  it('may be somewhere else', async () => {
    const storage = await scripted(answer(200, 'content'));
    const server = await scripted();
    expect((await fetched(server, `${storage.url}/bucket/1`)).content).toBe('content');
    expect([server.connections, storage.header('authorization')]).toEqual([0, [undefined]]);
  });

  it.each(['close', 'reset'] as const)('that is cut off (%s) goes on where it was', async (ending) => {
    const server = await scripted(
      partial(200, 10, '01234', ending, tagged),
      answer(206, '56789', { ...tagged, 'content-range': 'bytes 5-9/10' }),
    );
    const { content, waits } = await fetched(server);
    expect(content).toBe('0123456789');
    expect(server.requests[1]?.headers).toMatchObject({ range: 'bytes=5-', 'if-range': '"v1"' });
    expect(waits).toEqual([250]);
  });

  it('goes on as long as there is progress', async () => {
    const pieces = [...'0123456'].map((digit, index) =>
      partial(index === 0 ? 200 : 206, 8 - index, digit, 'close', { ...tagged, 'content-range': `bytes ${index}-7/8` }),
    );
    const server = await scripted(...pieces, answer(206, '7', { ...tagged, 'content-range': 'bytes 7-7/8' }));
    expect((await fetched(server)).content).toBe('01234567');
  });

  it.each([
    ['cannot be resumed', [partial(200, 10, '01234', 'close')], 'broke off after 5 bytes'],
    ['has only a weak tag', [partial(200, 10, '01234', 'close', { etag: 'W/"v1"' })], 'broke off after 5 bytes'],
    [
      'changed meanwhile',
      [partial(200, 10, '01234', 'close', tagged), answer(200, 'abcdefghij', tagged)],
      'changed while it was downloaded',
    ],
    [
      'goes on at another place',
      [partial(200, 10, '01234', 'close', tagged), answer(206, '6789', { ...tagged, 'content-range': 'bytes 6-9/10' })],
      'another part',
    ],
    ['never arrives', [nothing('close'), nothing('reset'), answer(503, ''), nothing('close')], 'broke off after 0 bytes'],
  ])('that %s is an error, and leaves no file', async (_, steps, message) => {
    const server = await scripted(...steps);
    const { error, names } = await fetched(server);
    expect(error).toMatchObject({ exit: 8, message: expect.stringContaining(message) });
    expect(names).toEqual([]);
    expect(server.requests).toHaveLength(steps.length);
  });

  it.each([302, 403, 404, 410, 416])('answered with %i is an error at once', async (status) => {
    const other = await scripted();
    const server = await scripted(answer(status, '<html>', { location: other.url }));
    const { error, names } = await fetched(server);
    expect(error).toMatchObject({ code: 'download_failed', details: { status, path: '/files/1' } });
    expect([names, server.requests.length, other.connections]).toEqual([[], 1, 0]);
  });

  it('can be given up in the middle', async () => {
    const server = await scripted(partial(200, 10, '01234', 'stall', tagged));
    const folder = await temporaryFolder();
    const controller = new AbortController();
    const { client } = newClient(server.url);
    const reason = new Error('enough');
    const content = (async function* () {
      for await (const chunk of download(client, '/files/1', controller.signal)) {
        setImmediate(() => controller.abort(reason));
        yield chunk;
      }
    })();
    expect(await failureOf(writeFile(path.join(folder, 'file'), content, false))).toBe(reason);
    expect(await readdir(folder)).toEqual([]);
  });
});

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
  ])('of %s arrives whole', async (_, size) => {
    const content = Buffer.alloc(size, 'content of a file, ');
    const file = path.join(folder, `${size}.bin`);
    await put(file, content);
    const { client } = newClient(service.url, { credential: bearerCredential(service.token) });
    const { sandbox_id } = await client.call('createSandbox', {});
    expect(await upload(client, sandbox_id, file, `/workspace/in/${size}.bin`, signal)).toEqual({
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

  it('of a short file is one change, with the same bytes and key in every attempt', async () => {
    const server = await scripted(
      nothing('reset', 'head'),
      json(500, { error: 'internal' }),
      json(201, { path: '/workspace/a', size_bytes: 3 }),
    );
    const file = path.join(folder, 'short');
    await put(file, 'abc');
    await upload(newClient(server.url).client, 's1', file, '/workspace/a', signal);
    expect(new Set(server.header('idempotency-key')).size).toBe(1);
    expect(server.requests[2]?.body.equals(server.requests[1]?.body as Buffer)).toBe(true);
  });

  it.each(['', '.', '..', 'a\nb'])('into the sandbox %j is refused', async (id) => {
    const server = await scripted();
    const file = path.join(folder, 'short');
    await put(file, 'abc');
    expect(await failureOf(upload(newClient(server.url).client, id, file, '/workspace/a', signal))).toMatchObject({ exit: 2 });
    expect(server.requests).toHaveLength(0);
  });

  it('of a long file carries no credential to its URL, and is tried again', async () => {
    const storage = await scripted(nothing('reset', 'head'), answer(503, ''), answer(200, ''));
    const server = await scripted(json(200, { upload_url: `${storage.url}/put?x=1`, path: '/workspace/a', expires_in_seconds: 60 }));
    const file = path.join(folder, 'long');
    await put(file, Buffer.alloc(directUploadLimit + 1, 'x'));
    const { client } = newClient(server.url);
    expect(await upload(client, 's1', file, '/workspace/a', signal)).toEqual({ path: '/workspace/a', size_bytes: directUploadLimit + 1 });
    expect(storage.header('authorization')).toEqual([undefined, undefined, undefined]);
    expect(storage.requests.at(-1)?.body).toHaveLength(directUploadLimit + 1);
    expect(server.requests).toHaveLength(1);
  });

  it('of a long file that is refused says so once', async () => {
    const storage = await scripted(answer(403, ''));
    const server = await scripted(json(200, { upload_url: `${storage.url}/put`, path: '/workspace/a', expires_in_seconds: 60 }));
    expect(await failureOf(upload(newClient(server.url).client, 's1', path.join(folder, 'long'), '/workspace/a', signal))).toMatchObject({
      exit: 5,
      code: 'upload_failed',
    });
    expect(storage.requests).toHaveLength(1);
  });
});
