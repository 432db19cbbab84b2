import { createHash } from 'node:crypto';
import { writeFile as put, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type DownloadOptions, download } from '../../../src/client/transfers/download.ts';
import { readDigest } from '../../../src/client/transfers/download-answer.ts';
import { LocalFolder, withByteCount } from '../../../src/client/transfers/local-files.ts';
import { answer, noAnswer, partial, type RawServer, raw, type Step } from '../../faults/raw-server.ts';
import { temporaryFolder } from '../../support/temporary.ts';
import { failureOf, newClient, scriptedServer } from '../harness.ts';

const { signal } = new AbortController();
const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64');

/** Downloads `/files/1` of a server into a folder. */
async function fetchFile(server: RawServer, options: Partial<DownloadOptions> = {}, url = '/files/1') {
  const folder = await temporaryFolder();
  const { client, clock } = newClient(server.url);
  let bytes = 0;
  const content = withByteCount(
    (restart) => download(client, url, { signal, restart, ...options }),
    (count) => {
      bytes += count;
    },
  );
  const error = await new LocalFolder(folder).write('file', content, { replace: false }).then(
    () => undefined,
    (failure: unknown) => failure as Record<string, unknown>,
  );
  const names = await readdir(folder);
  const writtenText = names.includes('file') ? await readFile(path.join(folder, 'file'), 'utf8') : undefined;
  // The reported number of received bytes is the size of the file, whatever happened in between.
  expect(bytes).toBe(writtenText?.length ?? 0);
  expect(names).toEqual(writtenText === undefined ? [] : ['file']);
  return { error, content: writtenText, waitTimes: clock.waitTimes };
}

const tagHeaders = { etag: '"v1"', 'content-type': 'text/plain' };
const firstHalf = (headers: Record<string, string> = tagHeaders): Step => partial(200, 10, '01234', 'reset', headers);
const secondHalf = (headers: Record<string, string> = {}): Step =>
  answer(206, '56789', { ...tagHeaders, 'content-range': 'bytes 5-9/10', ...headers });
const wholeAnswer = (headers: Record<string, string> = tagHeaders): Step => answer(200, '0123456789', headers);

describe('a download', () => {
  it('carries no credential, and streams the file', async () => {
    const server = await scriptedServer(answer(200, 'content'));
    const { content } = await fetchFile(server, { size: 7 }, '/files/1?signature=x%2By');
    expect(content).toBe('content');
    expect(server.requests[0]).toMatchObject({ method: 'GET', path: '/files/1?signature=x%2By' });
    for (const name of ['authorization', 'cookie', 'idempotency-key']) expect(server.requests[0]?.headers).not.toHaveProperty(name);
  });

  it('can be at another origin', async () => {
    const storage = await scriptedServer(answer(200, 'content'));
    const server = await scriptedServer();
    expect((await fetchFile(server, {}, `${storage.url}/bucket/1`)).content).toBe('content');
    expect([server.connections, storage.header('authorization')]).toEqual([0, [undefined]]);
  });

  it.each([
    'http://storage.test/1',
    'http://127.storage.test/1',
    'https://user:secret@storage.test/1',
    'ftp://storage.test/1',
    'data:,x',
    'http://[',
  ])('is never from %s', async (url) => {
    const { error } = await fetchFile(await scriptedServer(), {}, url);
    expect(error).toMatchObject({ code: 'unsafe_url' });
    expect(error?.message).not.toContain('secret');
  });

  it('arrives without any declared size', async () => {
    const server = await scriptedServer(raw('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n7\r\ncontent\r\n0\r\n\r\n'));
    expect((await fetchFile(server)).content).toBe('content');
  });

  it('does not reveal the signature in its URL', async () => {
    const token = 'x'.repeat(64);
    const { error } = await fetchFile(await scriptedServer(answer(404, '')), {}, `/files/${token}?signature=secret`);
    expect(error).toMatchObject({ details: { path: '/files/...' } });
    expect(String(error?.message)).not.toMatch(/xxx|secret/);
  });
});

describe('a download that is cut off', () => {
  it.each(['close', 'reset'] as const)('(%s) is resumed', async (ending) => {
    const server = await scriptedServer(partial(200, 10, '01234', ending, tagHeaders), secondHalf());
    const { content, waitTimes } = await fetchFile(server, { size: 10 });
    expect(content).toBe('0123456789');
    expect(server.requests[1]?.headers).toMatchObject({ range: 'bytes=5-', 'if-range': '"v1"' });
    expect(waitTimes).toEqual([250]);
  });

  it('continues as long as there is progress', async () => {
    const pieces = [...'0123456'].map((digit, index) =>
      partial(index === 0 ? 200 : 206, 8 - index, digit, 'close', { ...tagHeaders, 'content-range': `bytes ${index}-7/8` }),
    );
    const server = await scriptedServer(...pieces, answer(206, '7', { ...tagHeaders, 'content-range': 'bytes 7-7/8' }));
    expect((await fetchFile(server)).content).toBe('01234567');
  });

  it.each<[string, Step[], (string | undefined)[]]>([
    ['there is no tag', [firstHalf({}), wholeAnswer()], [undefined, undefined]],
    ['the tag is weak', [firstHalf({ etag: 'W/"v1"' }), wholeAnswer()], [undefined, undefined]],
    ['the file changed and comes whole', [firstHalf(), wholeAnswer({ etag: '"v2"' })], [undefined, 'bytes=5-']],
    ['ranges are ignored', [firstHalf(), wholeAnswer()], [undefined, 'bytes=5-']],
    ['the part has another tag', [firstHalf(), secondHalf({ etag: '"v2"' }), wholeAnswer()], [undefined, 'bytes=5-', undefined]],
    ['the part has a weak tag', [firstHalf(), secondHalf({ etag: 'W/"v1"' }), wholeAnswer()], [undefined, 'bytes=5-', undefined]],
    ['the part has no range', [firstHalf(), answer(206, '56789', tagHeaders), wholeAnswer()], [undefined, 'bytes=5-', undefined]],
    [
      'the part begins elsewhere',
      [firstHalf(), secondHalf({ 'content-range': 'bytes 4-9/10' }), wholeAnswer()],
      [undefined, 'bytes=5-', undefined],
    ],
    [
      'the part ends early',
      [firstHalf(), secondHalf({ 'content-range': 'bytes 5-8/10' }), wholeAnswer()],
      [undefined, 'bytes=5-', undefined],
    ],
    [
      'the whole has another size',
      [firstHalf(), secondHalf({ 'content-range': 'bytes 5-10/11' }), wholeAnswer()],
      [undefined, 'bytes=5-', undefined],
    ],
    [
      'the range is refused',
      [firstHalf(), answer(416, '', { 'content-range': 'bytes */3' }), wholeAnswer()],
      [undefined, 'bytes=5-', undefined],
    ],
    ['the tag does not match', [firstHalf(), answer(412, ''), wholeAnswer()], [undefined, 'bytes=5-', undefined]],
  ])('starts again where %s', async (_, steps, ranges) => {
    const server = await scriptedServer(...steps);
    const { error, content } = await fetchFile(server);
    expect(error).toBeUndefined();
    expect(content).toBe('0123456789');
    expect(server.header('range')).toEqual(ranges);
  });

  it('cannot start again when everything was already passed on', async () => {
    for (const steps of [[firstHalf({})], [firstHalf(), wholeAnswer({ etag: '"v2"' })], [firstHalf(), answer(416, '')]]) {
      const { client } = newClient((await scriptedServer(...steps)).url);
      const read = async (): Promise<void> => {
        for await (const _ of download(client, '/files/1', { signal }));
      };
      expect(await failureOf(read())).toMatchObject({ exit: 8 });
    }
  });

  it('repeatedly fails in the end', async () => {
    const server = (await scriptedServer()).always(firstHalf({}));
    const { error, waitTimes } = await fetchFile(server);
    expect(error).toMatchObject({ exit: 8, message: expect.stringContaining('broke off after 5 bytes') });
    expect([server.requests.length, waitTimes]).toEqual([4, [250, 500, 1_000]]);
  });

  it('of a file that keeps changing fails in the end', async () => {
    const server = await scriptedServer(...[1, 2, 3, 4, 5, 6].map((version) => firstHalf({ etag: `"v${version}"` })));
    expect((await fetchFile(server)).error).toMatchObject({ exit: 8 });
    expect(server.requests).toHaveLength(4);
  });

  it('before its first byte is requested again completely, even if nothing can be discarded', async () => {
    const server = await scriptedServer(noAnswer('close'), partial(200, 10, '', 'reset', tagHeaders), wholeAnswer());
    expect((await fetchFile(server, { restart: undefined })).content).toBe('0123456789');
    expect(server.header('range')).toEqual([undefined, undefined, undefined]);
  });

  it('repeatedly without any progress fails in the end', async () => {
    const server = await scriptedServer(firstHalf());
    server.always(partial(206, 5, '', 'close', { ...tagHeaders, 'content-range': 'bytes 5-9/10' }));
    const { error, waitTimes } = await fetchFile(server);
    expect(error).toMatchObject({ exit: 8, message: expect.stringContaining('broke off after 5 bytes') });
    expect([server.requests.length, waitTimes]).toEqual([4, [250, 500, 1_000]]);
  });

  it('within a part whose length is not declared is resumed', async () => {
    const chunkedAnswer = (body: string, range: string) =>
      raw(
        `HTTP/1.1 206 Partial Content\r\netag: "v1"\r\ncontent-range: bytes ${range}/10\r\ntransfer-encoding: chunked\r\n\r\n${body.length}\r\n${body}\r\n0\r\n\r\n`,
      );
    const server = await scriptedServer(firstHalf(), chunkedAnswer('567', '5-9'), chunkedAnswer('89', '8-9'));
    expect((await fetchFile(server)).content).toBe('0123456789');
    expect(server.header('range')).toEqual([undefined, 'bytes=5-', 'bytes=8-']);
  });

  it('reports why the part that was received cannot be discarded', async () => {
    const reason = new Error('The disk is gone.');
    const restart = async (): Promise<void> => {
      throw reason;
    };
    const { client } = newClient((await scriptedServer(firstHalf({}), wholeAnswer())).url);
    const read = async (): Promise<void> => {
      for await (const _ of download(client, '/files/1', { signal, restart }));
    };
    expect(await failureOf(read())).toBe(reason);
  });

  it.each<[string, Step[], number]>([
    ['is refused in another way', [firstHalf(), answer(404, '')], 0],
    ['is refused at the start', [answer(403, '')], 0],
    ['is refused again', [firstHalf(), answer(403, ''), answer(410, '')], 1],
  ])('gets no other URL when its URL %s', async (_, steps, expected) => {
    let renewals = 0;
    const renew = async (): Promise<string> => {
      renewals += 1;
      return '/files/2';
    };
    const server = (await scriptedServer(...steps)).always(answer(403, ''));
    expect((await fetchFile(server, { renew })).error).toMatchObject({ code: 'download_failed' });
    expect([server.requests.length, renewals]).toEqual([steps.length, expected]);
  });

  it('fails if its URL has expired and there is no other one', async () => {
    const server = await scriptedServer(firstHalf(), answer(403, ''));
    expect((await fetchFile(server)).error).toMatchObject({ code: 'download_failed', details: { status: 403 } });
  });

  it('gets another URL when its URL has expired', async () => {
    const server = await scriptedServer(firstHalf(), answer(403, ''), secondHalf());
    const { content } = await fetchFile(server, { renew: async () => '/files/2' });
    expect(content).toBe('0123456789');
    expect(server.requests.map((request) => request.path)).toEqual(['/files/1', '/files/1', '/files/2']);
  });
});

describe('a download that fails', () => {
  it('never arrives', async () => {
    const server = await scriptedServer(noAnswer('close'), noAnswer('reset'), answer(503, ''), noAnswer('close'));
    const { error } = await fetchFile(server);
    expect(error).toMatchObject({ exit: 8, message: expect.stringContaining('broke off after 0 bytes') });
    expect(server.requests).toHaveLength(4);
  });

  it.each([302, 403, 404, 410, 412, 416])('with %i does so immediately', async (status) => {
    const otherServer = await scriptedServer();
    const server = await scriptedServer(answer(status, '<html>', { location: otherServer.url }));
    expect((await fetchFile(server)).error).toMatchObject({ code: 'download_failed', details: { status, path: '/files/1' } });
    expect([server.requests.length, otherServer.connections]).toEqual([1, 0]);
  });

  it('because the answer is not HTTP is not repeated', async () => {
    const server = await scriptedServer(raw('SSH-2.0-OpenSSH_9.6\r\n', 'close'));
    expect((await fetchFile(server)).error).toMatchObject({ exit: 8, message: expect.stringContaining('was not valid HTTP') });
    expect(server.requests).toHaveLength(1);
  });

  it('does not read the body of the error', async () => {
    const server = await scriptedServer(partial(404, 1_000_000, '<html>', 'stall'));
    const closePromise = new Promise((resolve) => {
      server.onConnection = (socket) => void socket.once('close', resolve);
    });
    expect((await fetchFile(server)).error).toMatchObject({ code: 'download_failed' });
    await closePromise;
  });

  it('waits as long as requested, or reports that it is too long', async () => {
    const patientServer = await scriptedServer(answer(429, '', { 'retry-after': '20' }), wholeAnswer());
    const { content, waitTimes: delays } = await fetchFile(patientServer);
    expect(content).toBe('0123456789');
    expect(delays).toHaveLength(1);
    expect(delays[0]).toBeGreaterThanOrEqual(20_000);
    expect(delays[0]).toBeLessThanOrEqual(22_000);
    const { error, waitTimes } = await fetchFile(await scriptedServer(answer(503, '', { 'retry-after': '3600' })));
    expect([error?.exit, waitTimes]).toEqual([7, []]);
  });

  it('does not accept a part that was not requested', async () => {
    expect((await fetchFile(await scriptedServer(secondHalf()))).error).toMatchObject({
      exit: 8,
      message: expect.stringContaining('a different part'),
    });
  });

  it('is not compressed', async () => {
    expect((await fetchFile(await scriptedServer(wholeAnswer({ 'content-encoding': 'gzip' })))).error).toMatchObject({
      message: expect.stringContaining('compressed'),
    });
  });

  it('has a different length than reported before', async () => {
    const server = await scriptedServer(wholeAnswer());
    expect((await fetchFile(server, { size: 11 })).error).toMatchObject({ code: 'file_changed', exit: 8 });
    expect(server.requests).toHaveLength(1);
  });

  it.each([9, 11])('has %i bytes without declaring it', async (size) => {
    const chunkedAnswer: Step = {
      after: 'request',
      bytes: () => 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n',
      ending: 'keep',
    };
    const server = (await scriptedServer()).always(chunkedAnswer);
    expect((await fetchFile(server, { size })).error).toMatchObject({ exit: 8, message: expect.stringContaining(`of ${size} bytes`) });
    expect(server.requests).toHaveLength(4);
  });

  it('is not read beyond its size', async () => {
    const endlessAnswer: Step = {
      after: 'request',
      bytes: () => 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n',
      ending: 'stall',
    };
    const server = (await scriptedServer()).always(endlessAnswer);
    expect((await fetchFile(server, { size: 9 })).error).toMatchObject({
      exit: 8,
      message: expect.stringContaining('after 10 of 9 bytes'),
    });
    expect(server.requests).toHaveLength(4);
  });

  it.each([
    ['repr-digest', `sha-256=:${sha256('other')}:`],
    ['content-digest', `md5=:AAAA:, sha-256=:${sha256('other')}:`],
    ['repr-digest', `sha-512=:${sha256('other')}:`],
  ])('has a different hash than its %s', async (name, digest) => {
    const server = (await scriptedServer()).always(wholeAnswer({ ...tagHeaders, [name]: digest }));
    expect((await fetchFile(server)).error).toMatchObject({ exit: 8, message: expect.stringContaining('damaged') });
    expect(server.header('range')).toEqual([undefined, undefined, undefined, undefined]);
  });
});

describe('the hash of a download', () => {
  const digest = { 'repr-digest': `sha-256=:${sha256('0123456789')}:` };

  it('covers all attempts together', async () => {
    expect((await fetchFile(await scriptedServer(firstHalf({ ...tagHeaders, ...digest }), secondHalf()))).content).toBe('0123456789');
    const damagedServer = await scriptedServer(
      partial(200, 10, '0x234', 'reset', { ...tagHeaders, ...digest }),
      secondHalf(),
      wholeAnswer({ ...tagHeaders, ...digest }),
    );
    expect((await fetchFile(damagedServer)).content).toBe('0123456789');
    expect(damagedServer.header('range')).toEqual([undefined, 'bytes=5-', undefined]);
  });

  it.each([
    ['sha-256=:AAAA:', { algorithm: 'sha256', value: 'AAAA' }],
    ['sha-256=:AAAA:, sha-512=:BBBB=:', { algorithm: 'sha512', value: 'BBBB=' }],
    ['unixsum=:AAAA:,sha-256=:CC==:', { algorithm: 'sha256', value: 'CC==' }],
    ['sha-256=AAAA', undefined],
    ['x-sha-256=:AAAA:', undefined],
    [undefined, undefined],
  ])('is read from %j', (field, expected) => expect(readDigest(field)).toEqual(expected));
});

describe('aborting a download', () => {
  it('throws the reason, although the part that was received cannot be discarded', async () => {
    const { client } = newClient((await scriptedServer(partial(200, 10, '01234', 'stall'))).url);
    const controller = new AbortController();
    const reason = new Error('enough');
    const read = async (): Promise<void> => {
      for await (const _ of download(client, '/files/1', { signal: controller.signal })) controller.abort(reason);
    };
    expect(await failureOf(read())).toBe(reason);
  });

  it.each(['head', 'body', 'pause'] as const)('in its %s leaves no file', async (phase) => {
    const steps = { head: noAnswer('stall'), body: partial(200, 10, '01234', 'stall', tagHeaders), pause: answer(503, '') };
    const server = await scriptedServer(steps[phase]);
    const folder = await temporaryFolder();
    await put(path.join(folder, 'other'), 'mine');
    const controller = new AbortController();
    const reason = new Error('enough');
    const { client } = newClient(server.url, { hold: true, onEvent: () => setImmediate(() => controller.abort(reason)) });
    const content = async function* (restart: () => Promise<void>): AsyncGenerator<Uint8Array> {
      for await (const chunk of download(client, '/files/1', { signal: controller.signal, restart })) {
        setImmediate(() => controller.abort(reason));
        yield chunk;
      }
    };
    const writing = failureOf(new LocalFolder(folder).write('file', content, { replace: false }));
    if (phase === 'head') {
      await server.until(({ requests }) => requests.length === 1);
      controller.abort(reason);
    }
    expect(await writing).toBe(reason);
    expect(await readdir(folder)).toEqual(['other']);
  });
});
