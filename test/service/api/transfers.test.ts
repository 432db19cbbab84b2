import { existsSync } from 'node:fs';
import { mkdir, realpath, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { afterTest } from '../../support/temporary.ts';
import { ManualClock } from '../helpers/clock.ts';
import { fileHandles } from '../helpers/disk.ts';
import { onDiskCall } from '../helpers/disk-calls.ts';
import { type Api, startApi } from '../helpers/service.ts';

const megabyte = 1024 * 1024;

/** A run whose sandbox has a file, and the signed URL of that file. */
async function fileUrl(
  api: Api,
  name: string,
  bytes: Buffer,
): Promise<{ url: string; runId: string; content: string | null; truncated: boolean | undefined }> {
  const { sandbox_id } = await api.ok('createSandbox');
  const grant = await api.ok('createSandboxUploadUrl', { params: { sandbox_id }, body: { path: name } });
  expect((await api.send('PUT', grant.upload_url, { anonymous: true, body: bytes })).status).toBe(201);
  const { run } = await api.ok('startRun', { body: { agent_id: await api.agent('done', `A ${Math.random()}`), sandbox_id } });
  const { data } = await api.ok('getRunSandboxFileContent', { params: { run_id: run.id }, query: { path: name } });
  return { url: data.download_url as string, runId: run.id, content: data.content, truncated: data.truncated };
}

describe('a download', () => {
  it('streams the file as an attachment, whole or in part', async () => {
    const api = await startApi();
    const bytes = Buffer.from('\x00123456789');
    const { url } = await fileUrl(api, 'zahlen "ä".bin', bytes);
    const get = (headers: Record<string, string> = {}, method = 'GET') => api.send(method, url, { anonymous: true, headers });
    const wholeFile = await get();
    expect([wholeFile.status, wholeFile.text]).toEqual([200, bytes.toString()]);
    expect(wholeFile.headers).toMatchObject({
      'content-length': '10',
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'content-disposition': `attachment; filename="zahlen ___.bin"; filename*=UTF-8''zahlen%20%22%C3%A4%22.bin`,
    });
    const etag = String(wholeFile.headers.etag);
    expect(etag).toMatch(/^"[^"]+"$/);
    const part = await get({ range: 'bytes=2-4' });
    expect([part.status, part.text, part.headers['content-range']]).toEqual([206, '234', 'bytes 2-4/10']);
    expect((await get({ range: 'bytes=-3' })).text).toBe('789');
    expect((await get({ range: 'bytes=8-' })).text).toBe('89');
    expect((await get({ range: 'bytes=8-', 'if-range': etag })).status).toBe(206);
    expect((await get({ range: 'bytes=8-', 'if-range': '"other"' })).status).toBe(200);
    const outOfRangeAnswer = await get({ range: 'bytes=10-' });
    expect([outOfRangeAnswer.status, outOfRangeAnswer.headers['content-range']]).toEqual([416, 'bytes */10']);
    const unchangedAnswer = await get({ 'if-none-match': etag });
    expect([unchangedAnswer.status, unchangedAnswer.headers['content-length'], unchangedAnswer.headers.etag]).toEqual([
      304,
      undefined,
      etag,
    ]);
    const head = await get({}, 'HEAD');
    expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', '10']);
  });

  it('is offered for text that is too long to be inline', async () => {
    const api = await startApi();
    const text = `${'a'.repeat(megabyte - 1)}ä${'b'.repeat(10)}`;
    const { url, content, truncated } = await fileUrl(api, 'long.txt', Buffer.from(text));
    expect([content, truncated]).toEqual(['a'.repeat(megabyte - 1), true]);
    expect((await api.send('GET', url, { anonymous: true })).text).toBe(text);
  });

  it.each(['image.svg', 'README', 'script.unheard-of'])('has the media type of the file name %s, and no digest', async (name) => {
    const api = await startApi();
    const { url } = await fileUrl(api, name, Buffer.from('\0'));
    const { headers } = await api.send('GET', url, { anonymous: true });
    expect([headers['content-type'], headers['repr-digest']]).toEqual([
      name === 'image.svg' ? 'image/svg+xml' : 'application/octet-stream',
      undefined,
    ]);
  });

  it('of an empty file is empty', async () => {
    const api = await startApi();
    const { place, url } = await uploadedFile(api);
    await writeFile(place, '');
    for (const headers of [{}, { range: 'bytes=0-' }]) {
      const answer = await api.send('GET', url, { anonymous: true, headers: headers as Record<string, string> });
      expect([answer.status, answer.text || answer.headers['content-length']]).toEqual(
        'range' in headers ? [416, expect.stringContaining('The file has 0 bytes.')] : [200, '0'],
      );
    }
  });

  it('does not read the file for HEAD', async () => {
    const api = await startApi();
    const { place, url } = await uploadedFile(api);
    let openCount = 0;
    const count = async () => {
      openCount += 1;
      onDiskCall('before', 'open', place, count);
    };
    onDiskCall('before', 'open', place, count);
    expect((await api.send('HEAD', url, { anonymous: true })).headers['content-length']).toBe('4');
    const toDescribe = openCount;
    await api.send('GET', url, { anonymous: true });
    expect([toDescribe, openCount]).toEqual([1, 3]);
  });

  it('stops working if its URL has expired, was changed, or is used for something else', async () => {
    const clock = new ManualClock();
    const api = await startApi({ clock });
    const { url } = await fileUrl(api, 'a.bin', Buffer.from('\0'));
    const refusalOf = async (url: string, method = 'GET') => {
      const answer = await api.send(method, url, { anonymous: true });
      return [answer.status, (answer.body as { error: string }).error];
    };
    expect(await refusalOf(`${url.slice(0, -2)}xx`)).toEqual([403, 'invalid_signature']);
    expect(await refusalOf(url.replace('/files/', '/uploads/'), 'PUT')).toEqual([403, 'invalid_signature']);
    const { sandbox_id } = await api.ok('createSandbox');
    const { upload_url } = await api.ok('createSandboxUploadUrl', { params: { sandbox_id }, body: { path: 'b.bin' } });
    expect((await api.send('PUT', upload_url, { anonymous: true, body: 'b' })).status).toBe(201);
    expect(await refusalOf(upload_url.replace('/uploads/', '/files/'))).toEqual([403, 'invalid_signature']);
    expect(await refusalOf('/files/x')).toEqual([403, 'invalid_signature']);
    expect(await refusalOf(`${url}.more`)).toEqual([403, 'invalid_signature']);
    expect(await refusalOf(url, 'POST')).toEqual([405, 'method_not_allowed']);
    clock.advance(15 * 60 * 1_000 - 1);
    expect((await api.send('GET', url, { anonymous: true })).status).toBe(200);
    clock.advance(1);
    expect(await refusalOf(url)).toEqual([403, 'url_expired']);
  });
});

/** The place of an uploaded file on the disk, its URL, and a replacement of it that has another size. */
async function uploadedFile(api: Api) {
  const { sandbox_id } = await api.ok('createSandbox');
  const grant = await api.ok('createSandboxUploadUrl', { params: { sandbox_id }, body: { path: 'a.bin' } });
  await api.send('PUT', grant.upload_url, { anonymous: true, body: '\0old' });
  const { run } = await api.ok('startRun', { body: { agent_id: await api.agent(), sandbox_id } });
  await api.until(run.id, 'completed');
  const { data } = await api.ok('getRunSandboxFileContent', { params: { run_id: run.id }, query: { path: 'a.bin' } });
  const place = join(await realpath(api.dataDirectory), 'sandboxes', sandbox_id, 'workspace', 'a.bin');
  await utimes(place, 1, 1);
  let version = 0;
  /** Replaces the file with one of the same size or of the same time. */
  const replace = async (sameProperty: 'size' | 'time' = 'time') => {
    version += 1;
    await writeFile(`${place}.new`, sameProperty === 'size' ? '\0new' : `\0new${'!'.repeat(version)}`);
    if (sameProperty === 'time') await utimes(`${place}.new`, 1, 1);
    await rename(`${place}.new`, place);
  };
  return { place, replace, url: data.download_url as string, runId: run.id };
}

describe('a file that is replaced while it is downloaded', () => {
  it.each([
    ['size', '\0new'],
    ['time', '\0new!'],
  ] as const)('with one of the same %s is sent in the new version, with its headers', async (sameProperty, text) => {
    const api = await startApi();
    const { place, replace, url } = await uploadedFile(api);
    const old = await api.send('GET', url, { anonymous: true });
    onDiskCall('after', 'open', place, () => replace(sameProperty));
    const answer = await api.send('GET', url, { anonymous: true });
    expect([answer.status, answer.text, answer.headers['content-length']]).toEqual([200, text, String(text.length)]);
    expect(answer.headers.etag).not.toBe(old.headers.etag);
  });

  it.each([
    [4, 200],
    // Each of the three attempts opens it twice: to describe it, and to read it.
    [5, 409],
  ])('is opened three times at most: if it is replaced %i times, the response is %i', async (times, status) => {
    const api = await startApi();
    const { place, replace, url } = await uploadedFile(api);
    const streams = vi.spyOn(await fileHandles(), 'createReadStream');
    afterTest(async () => streams.mockRestore());
    let replacements = 0;
    const replaceAgain = async () => {
      replacements += 1;
      if (replacements < times) onDiskCall('after', 'open', place, replaceAgain);
      await replace();
    };
    onDiskCall('after', 'open', place, replaceAgain);
    const answer = await api.send('GET', url, { anonymous: true });
    expect([answer.status, (answer.body as { error?: string } | undefined)?.error]).toEqual([
      status,
      status === 409 ? 'file_changing' : undefined,
    ]);
    const results = streams.mock.results.map(({ value }) => (value as Readable).destroyed);
    expect(results).toEqual([true, true, true]);
  });

  it('is not found once it is gone', async () => {
    const api = await startApi();
    const { place, url } = await uploadedFile(api);
    await rm(place);
    expect((await api.send('GET', url, { anonymous: true })).body).toMatchObject({ error: 'file_not_found' });
    await mkdir(place);
    expect((await api.send('GET', url, { anonymous: true })).body).toMatchObject({ error: 'not_a_file' });
    expect((await api.send('HEAD', url, { anonymous: true })).status).toBe(400);
  });

  it('is not found once its sandbox was removed', async () => {
    const clock = new ManualClock();
    const api = await startApi({ clock, sandboxRetention: 60_000 });
    const { place, url, runId } = await uploadedFile(api);
    expect((await api.send('GET', url, { anonymous: true })).status).toBe(200);
    clock.advance(60_000);
    while ((await api.ok('listRunSandboxFiles', { params: { run_id: runId } })).data.sandboxStatus !== 'not_found') clock.advance(1_000);
    await eventually('its folder is gone', () => !existsSync(place));
    const answer = await api.send('GET', url, { anonymous: true });
    expect([answer.status, answer.body]).toMatchObject([404, { error: 'sandbox_not_found' }]);
  });
});

it('refuses an upload into a sandbox that is gone', async () => {
  const clock = new ManualClock();
  const api = await startApi({ clock });
  const { sandbox_id, expires_at } = await api.ok('createSandbox');
  clock.set(Date.parse(expires_at) - 60_000);
  const grant = await api.ok('createSandboxUploadUrl', { params: { sandbox_id }, body: { path: 'a' } });
  clock.advance(60_000);
  while ((await api.call('listSandboxFiles', { params: { sandbox_id } })).status !== 404) clock.advance(1_000);
  await eventually('its folder is gone', () => !existsSync(join(api.dataDirectory, 'sandboxes', sandbox_id)));
  const answer = await api.send('PUT', grant.upload_url, { anonymous: true, body: 'a' });
  expect([answer.status, answer.body]).toMatchObject([404, { error: 'sandbox_not_found' }]);
});

it('leaves nothing behind when an upload is interrupted', async () => {
  const api = await startApi();
  const { sandbox_id } = await api.ok('createSandbox');
  const grant = await api.ok('createSandboxUploadUrl', { params: { sandbox_id }, body: { path: 'half.bin' } });
  const socket = connect(api.service.port, '127.0.0.1');
  const { pathname } = new URL(grant.upload_url);
  await new Promise<void>((resolve) =>
    socket.write(`PUT ${pathname} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nhalf`, () => resolve()),
  );
  socket.end();
  await new Promise((resolve) => socket.once('close', resolve).resume());
  expect((await api.ok('listSandboxFiles', { params: { sandbox_id } })).files).toEqual([]);
});

it('removes an unused sandbox after a day, but not one that a run uses', async () => {
  const clock = new ManualClock();
  const api = await startApi({ clock });
  const unusedSandbox = await api.ok('createSandbox');
  const usedSandbox = await api.ok('createSandbox');
  const { run } = await api.ok('startRun', { body: { agent_id: await api.agent(), sandbox_id: usedSandbox.sandbox_id } });
  await api.until(run.id, 'completed');
  clock.set(Date.parse(unusedSandbox.expires_at));
  while ((await api.call('listSandboxFiles', { params: { sandbox_id: unusedSandbox.sandbox_id } })).status !== 404);
  expect((await api.call('listSandboxFiles', { params: { sandbox_id: usedSandbox.sandbox_id } })).status).toBe(200);
});
