/** Many files of a sandbox in one request. */
import { mkdir, mkdtemp, readdir, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { archiveLimit } from '../../../src/service/http/body.ts';
import { needsSqlite } from '../../support/postgres.ts';
import { itNeeding } from '../../support/requirements.ts';
import { sumOf, tarFile, tarOf, untar } from '../../support/tar.ts';
import { extendedHeader, paxRecord, tarEnd, tarHeader } from '../../support/tar-bytes.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { ManualClock } from '../helpers/clock.ts';
import { onDiskCall } from '../helpers/disk-calls.ts';
import { codeOf } from '../helpers/everything.ts';
import type { Behaviour } from '../helpers/runtime.ts';
import { type Answer, type Api, startApi, type TestOptions } from '../helpers/service.ts';

const behaviours: Record<string, Behaviour> = {
  write: async (host) => {
    for (const [name, content] of [
      ['b.txt', 'b'],
      ['a/z.txt', 'z'],
      ['a/deep/x.txt', 'x'],
      ['a.txt', 'a'],
      ['c/last.txt', ''],
    ] as const)
      await host.sandbox.write(name, Buffer.from(content));
    return { status: 'completed' };
  },
  // The message is where a link leads.
  link: async (host) => {
    const target = host.userMessages.at(-1);
    if (target !== undefined) await symlink(target, path.join(host.sandbox.directory, 'out'));
    return { status: 'completed' };
  },
};

interface Staged {
  api: Api;
  id: string;
  /** On the disk. With Postgres, uploads are in the database until a run uses them. */
  folder: string;
  push: (body: Buffer, type?: string) => Promise<Answer>;
  /** The files as the service returns them: their text by path. */
  files: () => Promise<Record<string, string>>;
}

/** A service with the sandbox of a run, which contains nothing but a link if its target is specified. */
async function staged(target?: string): Promise<Staged> {
  const api = await startApi({ behaviours });
  const { sandbox_id, id: runId } = await api.run('link', target);
  const id = sandbox_id as string;
  await api.until(runId, 'completed');
  const home = path.join(api.dataDirectory, 'sandboxes', id);
  await mkdir(path.join(home, 'workspace'), { recursive: true });
  const push = (body: Buffer, type = 'application/x-tar') =>
    api.send('POST', `/v2/sandboxes/${id}/files/archive`, { headers: { 'content-type': type }, body });
  const files = async () => {
    const [, ...found] = (await downloadOf(api, runId)).files;
    return Object.fromEntries(found.map(({ path: name, text }) => [path.posix.relative('/workspace', name), text]));
  };
  return { api, id, folder: path.join(home, 'workspace'), push, files };
}

interface Download {
  status: number;
  type: string;
  bytes: Buffer;
  files: { path: string; text: string; isIntact: boolean }[];
}

async function downloadOf(api: Api, runId: string, query = ''): Promise<Download> {
  const answer = await request(`${api.service.url}/v2/runs/${runId}/sandbox/files/archive${query}`, {
    headers: { authorization: `Bearer ${api.service.token}` },
  });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  const files = answer.statusCode === 200 ? await untar(bytes) : [];
  return { status: answer.statusCode, type: String(answer.headers['content-type']), bytes, files };
}

const stagingOf = (folder: string): Promise<string[]> => readdir(path.join(folder, '../staging')).catch(() => []);

describe('an archive that is uploaded', () => {
  it('becomes files, in place of earlier ones', async () => {
    const { api, id, folder, push, files } = await staged();
    await push(tarOf({ 'a.txt': 'old' }));
    const many = Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`many/f${index % 3}/${index}.txt`, `content ${index}`]));
    const large = Buffer.alloc(700_000, 'large');
    const answer = await push(tarOf({ 'a.txt': 'new', '/workspace/b/c.txt': 'c', './d.txt': '', 'b/large': large, ...many }));
    expect([answer.status, answer.body]).toEqual([
      201,
      { files: 124, size_bytes: 4 + 700_000 + Object.values(many).reduce((sum, text) => sum + text.length, 0) },
    ]);
    expect(await files()).toEqual({ 'a.txt': 'new', 'b/c.txt': 'c', 'b/large': large.toString(), 'd.txt': '', ...many });
    expect(await stagingOf(folder)).toEqual([]);
    expect((await api.ok('listSandboxFiles', { params: { sandbox_id: id }, query: { path: 'b' } })).files).toMatchObject([
      { path: '/workspace/b/c.txt' },
      { path: '/workspace/b/large' },
    ]);
  });

  it('may be empty, and may lack checksums', async () => {
    const { files, push } = await staged();
    expect((await push(tarEnd())).body).toEqual({ files: 0, size_bytes: 0 });
    const head = tarHeader({ name: 'a', type: 'file', size: 0, mode: 0o600, modifiedAt: 0 });
    expect((await push(Buffer.concat([head, tarEnd()]))).status).toBe(201);
    expect(await files()).toEqual({ a: '' });
  });

  const link = tarHeader({ name: 'link', type: 'link', size: 0, mode: 0o777, modifiedAt: 0, target: '/etc/passwd' });
  it.each([
    ['that is cut off', tarOf({ a: 'x', b: 'y' }).subarray(0, 2_600), 400, 'invalid_archive'],
    [
      'whose content does not match its checksum',
      Buffer.concat([tarFile('a', 'x'), tarFile('b', 'y', sumOf('z')), tarEnd()]),
      400,
      'invalid_archive',
    ],
    ['with a damaged header', Buffer.concat([tarFile('a', 'x'), Buffer.alloc(512, 1), tarEnd()]), 400, 'invalid_archive'],
    ['with a link', Buffer.concat([tarFile('a', 'x'), link, tarEnd()]), 400, 'invalid_archive'],
    ['with the same file twice', Buffer.concat([tarFile('a', 'x'), tarFile('./a', 'y'), tarEnd()]), 400, 'invalid_archive'],
    ['with a file that is a directory as well', tarOf({ a: 'x', b: 'y', 'b/c/d': 'z' }), 400, 'invalid_archive'],
    ['with a directory that is a file as well', tarOf({ a: 'x', 'b/c/d': 'z', './b/c': 'y' }), 400, 'invalid_archive'],
    ['with a path that leads out', tarOf({ a: 'x', '../b': 'y' }), 400, 'invalid_path'],
    ['with a path that leads out in between', tarOf({ a: 'x', 'c/../../b': 'y' }), 400, 'invalid_path'],
    ['with an absolute path', tarOf({ a: 'x', '/etc/b': 'y' }), 400, 'invalid_path'],
    ['with a backslash', tarOf({ a: 'x', 'c\\b': 'y' }), 400, 'invalid_path'],
    [
      'with NUL in a name',
      Buffer.concat([
        tarFile('a', 'x'),
        extendedHeader(paxRecord('path', 'b\0c')),
        tarHeader({ name: 'b', type: 'file', size: 0, mode: 0o600, modifiedAt: 0 }),
        tarEnd(),
      ]),
      400,
      'invalid_path',
    ],
    ['with a long name', tarOf({ a: 'x', ['n'.repeat(256)]: 'y' }), 400, 'invalid_path'],
    ['with a name that is a directory', tarOf({ a: 'x', 'b/': '' }), 400, 'invalid_path'],
    ['with the workspace as a file', tarOf({ a: 'x', '/workspace': '' }), 400, 'not_a_file'],
    ['with a file below a file', tarOf({ a: 'x', 'old/b': 'y' }), 400, 'not_a_directory'],
    ['with a file in place of a directory', tarOf({ a: 'x', folder: 'y' }), 400, 'not_a_file'],
    ['with a file through a link that leads out', tarOf({ a: 'x', 'out/b': 'y' }), 400, 'invalid_path'],
    ['with a file in place of such a link', tarOf({ a: 'x', out: 'y' }), 400, 'invalid_path'],
    [
      'with a file that is too large',
      Buffer.concat([tarFile('a', 'x'), tarFile('b', Buffer.alloc(10 * 1_048_576 + 1)), tarEnd()]),
      413,
      'file_too_large',
    ],
    ['that is too large', Buffer.alloc(archiveLimit + 1), 413, 'body_too_large'],
    ['that is not an archive', Buffer.from('{}'), 400, 'invalid_archive'],
    ['that is empty', Buffer.alloc(0), 400, 'invalid_archive'],
  ] as const)('%s is refused, and none of its files is written', async (_, body, status, error) => {
    const outside = await temporaryDirectory();
    const { folder, push, files } = await staged(outside);
    await push(tarOf({ old: 'old', 'folder/old': 'old' }));
    const answer = await push(body);
    expect(codeOf(answer)).toEqual([status, error]);
    expect(await files()).toEqual({ 'folder/old': 'old', old: 'old' });
    expect([await readdir(outside), await stagingOf(folder)]).toEqual([[], []]);
  });

  it('with too many files is refused', async () => {
    const { files, push } = await staged();
    const bytes = Buffer.concat([
      ...Array.from({ length: 10_001 }, (_, index) => tarHeader({ name: `f${index}`, type: 'file', size: 0, mode: 0o600, modifiedAt: 0 })),
      tarEnd(),
    ]);
    expect(codeOf(await push(bytes))).toEqual([400, 'invalid_archive']);
    expect(await files()).toEqual({});
  });

  it('with another media type is refused', async () => {
    const { push } = await staged();
    for (const type of ['application/json', 'multipart/form-data; boundary=x', ''])
      expect(codeOf(await push(tarOf({ a: 'x' }), type)), type).toEqual([400, 'invalid_request']);
  });

  itNeeding(needsSqlite, 'is not written through a directory that becomes a link while it is written', async () => {
    const { folder, push } = await staged();
    const outside = await temporaryDirectory();
    await push(tarOf({ 'd/old': 'old' }));
    // The directory has been looked up, and its file is about to be.
    onDiskCall('after', 'lstat', path.join(folder, 'd'), async () => {
      await rename(path.join(folder, 'd'), path.join(folder, 'moved'));
      await symlink(outside, path.join(folder, 'd'));
    });
    expect(codeOf(await push(tarOf({ 'd/a': 'x' })))).toEqual([400, 'invalid_path']);
    expect([await readdir(outside), await stagingOf(folder)]).toEqual([[], []]);
  });

  itNeeding(needsSqlite, 'is not written to a directory that is created as a link at the last moment', async () => {
    const { folder, push } = await staged();
    const outside = await temporaryDirectory();
    onDiskCall('before', 'mkdir', path.join(folder, 'new'), () => symlink(outside, path.join(folder, 'new')));
    expect(codeOf(await push(tarOf({ 'new/a': 'x' })))).toEqual([400, 'invalid_path']);
    expect([await readdir(outside), await stagingOf(folder)]).toEqual([[], []]);
  });

  itNeeding(needsSqlite, 'reports a full disk, and leaves nothing behind', async () => {
    const { folder, push, files } = await staged();
    onDiskCall('before', 'lstat', path.join(folder, 'b'), () => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' })));
    expect(codeOf(await push(tarOf({ a: 'x', 'b/c': 'y' })))).toEqual([503, 'disk_full']);
    expect([await files(), await stagingOf(folder)]).toEqual([{}, []]);
  });

  it('is written once for a key, even if the files change afterwards', async () => {
    const { api, id, push, files } = await staged();
    const send = (body: Buffer) =>
      api.send('POST', `/v2/sandboxes/${id}/files/archive`, {
        headers: { 'content-type': 'application/x-tar', 'idempotency-key': 'k' },
        body,
      });
    const first = await send(tarOf({ a: 'x' }));
    await push(tarOf({ a: 'changed later' }));
    const second = await send(tarOf({ a: 'x' }));
    expect([second.status, second.text, second.headers['idempotency-replayed']]).toEqual([201, first.text, 'true']);
    expect(await files()).toEqual({ a: 'changed later' });
    expect(codeOf(await send(tarOf({ a: 'y' })))).toEqual([400, 'idempotency_key_reused']);
  });
});

describe('an archive that is downloaded', () => {
  /** A run that has written files, and its folder on the disk. */
  async function finished(
    options: TestOptions = {},
  ): Promise<{ api: Api; folder: string; runId: string; download: (query?: string) => Promise<Download> }> {
    const api = await startApi({ behaviours, ...options });
    const { id: runId, sandbox_id } = await api.run('write');
    await api.until(runId, 'completed');
    const download = (query?: string) => downloadOf(api, runId, query);
    return { api, runId, download, folder: path.join(api.dataDirectory, 'sandboxes', sandbox_id as string, 'workspace') };
  }
  const pathsOf = ({ files }: Download): string[] => files.slice(1).map((file) => file.path);
  const listOf = ({ files }: Download) => JSON.parse(files[0]?.text ?? '') as { path: string; files: { path: string; size: number }[] };

  it('lists the files, and contains them in this order', async () => {
    const { download } = await finished();
    const whole = await download();
    expect([whole.status, whole.type]).toEqual([200, 'application/x-tar']);
    expect(listOf(whole)).toEqual({
      path: '/workspace',
      files: [
        { path: '/workspace/a/deep/x.txt', size: 1 },
        { path: '/workspace/a/z.txt', size: 1 },
        { path: '/workspace/a.txt', size: 1 },
        { path: '/workspace/b.txt', size: 1 },
        { path: '/workspace/c/last.txt', size: 0 },
      ],
    });
    expect(whole.files.slice(1).map(({ text }) => text)).toEqual(['x', 'z', 'a', 'b', '']);
    expect(pathsOf(whole)).toEqual(listOf(whole).files.map((file) => file.path));
    expect(whole.files.every((file) => file.isIntact)).toBe(true);
  });

  it('contains a folder or a file if its path is specified, also by agent', async () => {
    const { api, runId, download } = await finished();
    const folder = await download('?path=a');
    expect([listOf(folder).path, pathsOf(folder)]).toEqual(['/workspace/a', ['/workspace/a/deep/x.txt', '/workspace/a/z.txt']]);
    const file = await download('?path=/workspace/a/z.txt');
    expect([listOf(file).path, pathsOf(file)]).toEqual(['/workspace/a', ['/workspace/a/z.txt']]);
    const { run } = await api.ok('getRun', { params: { run_id: runId } });
    await api.ok('getAgentRunSandboxArchive', { params: { agent_id: run.agent_id as string, run_id: runId } });
    await api.ok('getRunSandboxArchive', { params: { run_id: runId } });
    const agentId = await api.agent('done', 'another');
    expect(codeOf(await api.call('getAgentRunSandboxArchive', { params: { agent_id: agentId, run_id: runId } }))).toEqual([
      404,
      'run_not_found',
    ]);
  });

  it('continues after any file, whether or not that still exists', async () => {
    const { download } = await finished();
    const all = pathsOf(await download());
    for (const [index, name] of all.entries()) {
      const rest = await download(`?after=${encodeURIComponent(name)}`);
      expect(pathsOf(rest), name).toEqual(all.slice(index + 1));
      expect(listOf(rest).files).toHaveLength(all.length - index - 1);
    }
    expect(pathsOf(await download('?after=/workspace/a/gone.txt'))).toEqual(all.slice(1));
    expect(pathsOf(await download('?after=/workspace/a'))).toEqual(all);
  });

  it('leaves out what is not a file, what leads out, and large files', async () => {
    const { folder, download } = await finished();
    const outside = await mkdtemp(path.join(await temporaryDirectory(), 'outside-'));
    await writeFile(path.join(outside, 'secret'), 'secret');
    await symlink(outside, path.join(folder, 'link'));
    await symlink(path.join(outside, 'secret'), path.join(folder, 'secret'));
    await writeFile(path.join(folder, 'large'), '');
    await truncate(path.join(folder, 'large'), 10_000_001);
    await writeFile(path.join(folder, 'medium'), Buffer.alloc(1_000_000, 'medium'));
    const whole = await download();
    expect(listOf(whole).files.map((file) => file.path)).not.toContain('/workspace/secret');
    expect(listOf(whole).files).toContainEqual({ path: '/workspace/large', size: 10_000_001 });
    expect(pathsOf(whole)).toEqual(
      listOf(whole)
        .files.map((file) => file.path)
        .filter((name) => name !== '/workspace/large'),
    );
    expect(whole.files.find((file) => file.path === '/workspace/medium')).toMatchObject({ isIntact: true });
    expect(whole.bytes.includes('secret')).toBe(false);
  });

  it.each(['small', 'medium'] as const)('leaves out a %s file that is replaced with a link after it was listed', async (size) => {
    const { folder, download } = await finished();
    const outside = await temporaryDirectory();
    const content = size === 'small' ? 'secret' : 'secret'.repeat(100_000);
    await writeFile(path.join(outside, 'z.txt'), content);
    await writeFile(path.join(folder, 'a', 'z.txt'), content.replaceAll('secret', 'inside'));
    // Its folder has been read.
    onDiskCall('after', 'realpath', path.join(folder, 'a'), async () => {
      await rm(path.join(folder, 'a'), { recursive: true });
      await symlink(outside, path.join(folder, 'a'));
    });
    const whole = await download();
    expect(whole.bytes.includes('secret')).toBe(false);
    expect(listOf(whole).files.map((file) => file.path)).toContain('/workspace/a/z.txt');
    expect(pathsOf(whole)).not.toContain('/workspace/a/z.txt');
  });

  it('leaves out names that are not UTF-8, and keeps control characters for the client to refuse', async () => {
    const { folder, download } = await finished();
    await writeFile(Buffer.concat([Buffer.from(`${folder}/bad`), Buffer.from([0xff])]), 'x');
    await writeFile(path.join(folder, 'line\nbreak'), 'x');
    const whole = await download();
    expect(pathsOf(whole)).toContain('/workspace/line\nbreak');
    expect(pathsOf(whole).filter((name) => name.includes('bad'))).toEqual([]);
  });

  it('contains a file that changes while it is read with a checksum that shows it', async () => {
    const { folder, download } = await finished();
    const file = path.join(folder, 'changing');
    await writeFile(file, Buffer.alloc(1_000_000, 'before'));
    // Its checksum is known when it is opened for the second time, by its descriptor; here, its size changes right after it was opened.
    onDiskCall('after', 'open', file, () => truncate(file, 400_000));
    const { files } = await download();
    expect(files.find((entry) => entry.path === '/workspace/changing')).toMatchObject({ isIntact: true });
  });

  it('is refused for a path that does not exist or leads out, and for a sandbox that was removed', async () => {
    const clock = new ManualClock();
    const { api, runId, download } = await finished({ clock, sandboxRetention: 60_000 });
    const refusal = async (query: string) => {
      const { status, bytes } = await download(query);
      return [status, (JSON.parse(bytes.toString()) as { error: string }).error];
    };
    expect(await refusal('?path=gone')).toEqual([404, 'file_not_found']);
    expect(await refusal('?path=../x')).toEqual([400, 'invalid_path']);
    expect(await refusal('?path=/etc')).toEqual([400, 'invalid_path']);
    clock.advance(60_000);
    while ((await api.ok('listRunSandboxFiles', { params: { run_id: runId } })).data.sandboxStatus !== 'not_found') clock.advance(5_000);
    expect(await refusal('')).toEqual([404, 'sandbox_not_found']);
  });

  it('has no body in the answer to HEAD', async () => {
    const { api, runId } = await finished();
    const answer = await api.send('HEAD', `/v2/runs/${runId}/sandbox/files/archive`);
    expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([200, '', 'application/x-tar']);
  });

  it('ends when the client disconnects', async () => {
    const { folder, api, runId } = await finished();
    for (let index = 0; index < 8; index += 1) await writeFile(path.join(folder, `large${index}`), Buffer.alloc(9_000_000, 'x'));
    const answer = await request(`${api.service.url}/v2/runs/${runId}/sandbox/files/archive`, {
      headers: { authorization: `Bearer ${api.service.token}` },
    });
    answer.body.once('error', () => undefined).destroy();
    // Closing waits for the answers in progress.
    await api.service.close();
  });
});
