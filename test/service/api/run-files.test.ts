/** Downloads of the files of runs, such as screenshots, by signed URL. */
import { createHash } from 'node:crypto';
import { rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { needsSqlite } from '../../support/postgres.ts';
import { itNeeding } from '../../support/requirements.ts';
import { ManualClock } from '../helpers/clock.ts';
import { onDiskCall } from '../helpers/disk-calls.ts';
import { startApi, type TestOptions } from '../helpers/service.ts';

const bytes = Buffer.from('89504e470d0a1a0a00ff', 'hex');
const hour = 60 * 60 * 1_000;

/** A run with one screenshot: its URL, how to request a new one, and the location of its file. */
async function screenshot({ mimeType = 'image/png', ...options }: TestOptions & { mimeType?: string } = {}) {
  const api = await startApi({
    behaviours: {
      shot: async (host) => {
        const image = { name: 'a.png', mimeType, bytes };
        const event = {
          kind: 'screenshot',
          id: 's',
          toolName: 'browser',
          startedAt: new Date(host.clock.now()),
          input: {},
          image,
        } as const;
        await host.emit([event]);
        return { status: 'completed' };
      },
    },
    ...options,
  });
  const { id } = await api.run('shot');
  await api.until(id, 'completed');
  const newUrl = async () => {
    const { data } = await api.ok('getRunScreenshotTimeline', { params: { run_id: id } });
    return data.toolExecutions[0]?.afterScreenshot?.signedUrl as string;
  };
  const url = await newUrl();
  const payload = new URL(url).pathname.split('/')[2]?.split('.')[0] as string;
  const { fileId } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { fileId: string };
  const download = async (at = url, method = 'GET') => api.send(method, at, { anonymous: true });
  return { api, id, newUrl, download, file: join(api.dataDirectory, 'files', id, fileId) };
}

it('has the digest of the whole file, also if only a part is sent', async () => {
  const { api, newUrl } = await screenshot();
  const [hex, base64] = (['hex', 'base64'] as const).map((encoding) => createHash('sha256').update(bytes).digest(encoding));
  for (const headers of [{}, { range: 'bytes=8-' }]) {
    const answer = await api.send('GET', await newUrl(), { anonymous: true, headers: headers as Record<string, string> });
    expect(answer.headers).toMatchObject({ etag: `"${hex}"`, 'repr-digest': `sha-256=:${base64}:`, 'content-type': 'image/png' });
    expect(answer.headers['content-length']).toBe('range' in headers ? '2' : '10');
  }
});

it.each([
  ['image/svg+xml', 'image/svg+xml'],
  ['image/png; charset=x', 'application/octet-stream'],
  ['image/png\r\nSet-Cookie: a=b', 'application/octet-stream'],
  ['image', 'application/octet-stream'],
])('with the media type %j that a runtime reported has the type %s', async (mimeType, type) => {
  const { download } = await screenshot({ mimeType });
  const { status, headers } = await download();
  expect([status, headers['content-type'], headers['set-cookie']]).toEqual([200, type, undefined]);
});

it('does not open the file for HEAD', async () => {
  const { download, file } = await screenshot();
  let openCount = 0;
  onDiskCall('before', 'open', file, async () => void openCount++);
  const { status, headers } = await download(undefined, 'HEAD');
  expect([status, headers['content-length'], openCount]).toEqual([200, '10', 0]);
});

itNeeding(needsSqlite, 'fails with 500 if the disk has it but it cannot be opened', async () => {
  const { download, file } = await screenshot();
  await rm(file);
  await symlink(file, file);
  const { status, body } = await download();
  expect([status, body]).toMatchObject([500, { error: 'internal_error' }]);
});

it('is not found once its run has been removed', async () => {
  const clock = new ManualClock();
  const { api, id, newUrl, download } = await screenshot({ clock, runRetention: hour / 2 });
  clock.advance(hour - 10_000);
  const url = await newUrl();
  expect((await download(url)).status).toBe(200);
  clock.advance(20_000);
  while ((await api.call('getRun', { params: { run_id: id } })).status !== 404);
  const { status, body } = await download(url);
  expect([status, body]).toMatchObject([404, { error: 'run_file_not_found' }]);
});
