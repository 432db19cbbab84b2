/** Files that arrive in an archive: whatever happens to it, each file is complete or missing, and is requested by itself if it has to be. */
import { writeFileSync } from 'node:fs';
import { writeFile as put, readdir, readFile, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { AopsError } from '../../../src/base/errors.ts';
import { LocalFolder } from '../../../src/client/transfers/local-files.ts';
import { openArchive } from '../../../src/client/transfers/pull-archive.ts';
import { pullTree } from '../../../src/client/transfers/pull-tree.ts';
import { answer, json, noAnswer, partial, type RawServer, type Step } from '../../faults/raw-server.ts';
import { sumOf, tarFile } from '../../support/tar.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { failureOf, newClient, scriptedServer } from '../harness.ts';

const { signal } = new AbortController();
const tarType = { 'content-type': 'application/x-tar' };
const end = Buffer.alloc(1_024);

/** The list of an archive. */
const list = (...names: string[]): Buffer =>
  tarFile('aops-files.json', JSON.stringify({ path: '/workspace', files: names.map((name) => ({ path: `/workspace/${name}`, size: 1 })) }));
const file = (name: string, content = name, sum?: string): Buffer => tarFile(`/workspace/${name}`, content, sum);
const archive = (...parts: Buffer[]): Step => answer(200, Buffer.concat(parts), tarType);
/** An archive that ends with the connection. */
const cut = (bytes: Buffer, ending: 'close' | 'reset' = 'close'): Step => partial(200, 1_000_000, bytes, ending, tarType);
/** The response that describes a file by itself. */
const single = (name: string, content = name): Step =>
  json(200, {
    data: {
      sandboxStatus: 'paused',
      path: `/workspace/${name}`,
      isTextFile: true,
      content,
      size: content.length,
      truncated: false,
      download_url: null,
    },
  });
const gone = json(404, { error: 'file_not_found', message: 'There is no such file.' });

async function pull(
  server: RawServer,
  {
    replace = false,
    folder,
    onBytes,
    local,
  }: { replace?: boolean; folder?: string; onBytes?: () => void; local?: Partial<LocalFolder> } = {},
) {
  const target = folder ?? path.join(await temporaryDirectory(), 'out');
  const { client, clock } = newClient(server.url);
  let bytes = 0;
  const opened = await openArchive(client, { runId: 'r' }, '/workspace', signal);
  if (opened === undefined) throw new Error('There is no archive.');
  const tree = pullTree(client, {
    run: { runId: 'r' },
    ...opened,
    folder: Object.assign(new LocalFolder(target), local),
    replace,
    signal,
    onBytes: (count) => {
      bytes += count;
      onBytes?.();
    },
  });
  const result = tree.then(({ files }) => files);
  result.catch(() => undefined);
  return { tree, result, target, clock, received: () => bytes };
}

async function contentsOf(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  return Object.fromEntries(await Promise.all(files.map(async (name) => [path.relative(folder, name), await readFile(name, 'utf8')])));
}
const pathsOf = (server: RawServer): string[] => server.requests.map((request) => decodeURIComponent(request.path));

describe('an archive', () => {
  it('becomes files with one request', async () => {
    const names = Array.from({ length: 150 }, (_, index) => `f${index % 3}/${index}`);
    const server = await scriptedServer(archive(list(...names), ...names.map((name) => file(name)), end));
    const { result, target, received } = await pull(server);
    expect(await result).toEqual(names.map((name) => ({ path: `/workspace/${name}`, target: path.join(target, name), size: name.length })));
    expect(await contentsOf(target)).toEqual(Object.fromEntries(names.map((name) => [name, name])));
    expect(pathsOf(server)).toEqual(['/v2/runs/r/sandbox/files/archive?path=/workspace']);
    expect(received()).toBe(names.join('').length);
  });

  it('that breaks off is continued after the last file that arrived', async () => {
    const second = Buffer.concat([list('b', 'c'), file('b'), file('c')]);
    const server = await scriptedServer(
      cut(Buffer.concat([list('a', 'b', 'c'), file('a'), file('b').subarray(0, 100)])),
      cut(second.subarray(0, second.length - 512), 'reset'),
      archive(list(), end),
      single('c'),
    );
    const { result, target } = await pull(server);
    expect((await result).map(({ size }) => size)).toEqual([1, 1, 1]);
    expect(await contentsOf(target)).toEqual({ a: 'a', b: 'b', c: 'c' });
    expect(pathsOf(server).slice(1)).toEqual([
      '/v2/runs/r/sandbox/files/archive?path=/workspace&after=/workspace/a',
      '/v2/runs/r/sandbox/files/archive?path=/workspace&after=/workspace/c',
      '/v2/runs/r/sandbox/files/content?path=/workspace/c',
    ]);
  });

  it('that breaks off before the first file has arrived is requested again', async () => {
    const server = await scriptedServer(cut(list('a')), archive(list('a'), file('a'), end));
    const { result, target } = await pull(server);
    await result;
    expect(await contentsOf(target)).toEqual({ a: 'a' });
    expect(new Set(pathsOf(server)).size).toBe(1);
  });

  it('may break off any number of times, as long as it makes progress', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const steps = names.map((name, index) => cut(Buffer.concat([list(...names.slice(index)), file(name)])));
    const server = await scriptedServer(...steps, archive(list(), end));
    const { result, target } = await pull(server);
    await result;
    expect(await contentsOf(target)).toEqual(Object.fromEntries(names.map((name) => [name, name])));
  });

  it('that makes no progress fails, and says what was done', async () => {
    const server = (await scriptedServer(cut(Buffer.concat([list('a', 'b'), file('a')])))).always(noAnswer('reset'));
    const { result, target, clock } = await pull(server);
    expect(await failureOf(result)).toMatchObject({
      code: 'service_unavailable',
      exit: 8,
      message: expect.stringContaining(`1 of 2 files are in ${target}.`),
      hint: expect.stringContaining('--force'),
    });
    expect(await contentsOf(target)).toEqual({ a: 'a' });
    expect(server.requests).toHaveLength(4);
    // Each wait is longer than the one before.
    expect(clock.waitTimes).toHaveLength(3);
    expect(clock.waitTimes).toEqual([...new Set(clock.waitTimes)].sort((a, b) => a - b));
  });

  it.each([
    ['does not match its checksum', file('b', 'x', sumOf('b'))],
    ['has no checksum', tarFile('/workspace/b', 'x', '')],
    ['is left out', Buffer.alloc(0)],
  ])('with a file that %s leaves it to a request of its own', async (_, entry) => {
    const server = await scriptedServer(archive(list('a', 'b', 'c'), file('a'), entry, file('c'), end), single('b'));
    const { result, target } = await pull(server);
    await result;
    expect(await contentsOf(target)).toEqual({ a: 'a', b: 'b', c: 'c' });
    expect(pathsOf(server)[1]).toBe('/v2/runs/r/sandbox/files/content?path=/workspace/b');
  });

  it('with a file that has another size than listed has the content that it had when it was read', async () => {
    const server = await scriptedServer(archive(list('a'), file('a', 'longer'), end));
    const { result, target } = await pull(server);
    expect(await result).toMatchObject([{ size: 6 }]);
    expect(await contentsOf(target)).toEqual({ a: 'longer' });
  });

  it('with a file that is too large for an archive leaves it to a request', async () => {
    const large = Buffer.alloc(16 * 1_048_576 + 1, 'x');
    const server = await scriptedServer(archive(list('a', 'b'), file('a', large.toString()), file('b'), end), single('a', 'small'));
    const { result, target } = await pull(server);
    await result;
    expect(await contentsOf(target)).toEqual({ a: 'small', b: 'b' });
  });

  it('with a file that no longer exists fails as its request does', async () => {
    const server = await scriptedServer(archive(list('a', 'b'), file('a'), end), gone);
    const { result, target } = await pull(server);
    expect(await failureOf(result)).toMatchObject({ exit: 3, message: expect.stringContaining('1 of 2 files are in') });
    expect(await contentsOf(target)).toEqual({ a: 'a' });
  });

  it('with files that nobody asked for, or twice, is written as listed', async () => {
    const server = await scriptedServer(
      archive(list('a'), file('a'), file('a', 'again'), file('other'), file('../../out'), tarFile('/etc/x', 'x'), end),
    );
    const { result, target } = await pull(server);
    await result;
    expect(await contentsOf(path.dirname(target))).toEqual({ 'out/a': 'a' });
  });

  it.each([
    ['leads out', ['../x'], 'unsafe_name'],
    ['has a way back', ['a/../b'], 'unsafe_name'],
    ['is that of two files', ['a', './a'], 'clashing_names'],
  ])('with a name that %s is refused before anything is written', async (_, names, code) => {
    const server = await scriptedServer(archive(list(...names), ...names.map((name) => file(name)), end));
    const { result, target } = await pull(server);
    expect(await failureOf(result)).toMatchObject({ code, message: expect.not.stringContaining('files are in') });
    expect(await contentsOf(path.dirname(target))).toEqual({});
  });

  it('leaves out files whose names cannot be used, and reports them', async () => {
    const names = ['a', 'a\nb', 'c/d'];
    const server = await scriptedServer(archive(list(...names), ...names.map((name) => file(name)), end));
    const { tree, target } = await pull(server);
    expect((await tree).skipped).toEqual([{ name: '/workspace/a\nb', reason: 'it has a control character' }]);
    expect(await contentsOf(path.dirname(target))).toEqual({ 'out/a': 'a', 'out/c/d': 'c/d' });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    [true, ['readme', 'README', 'aux.c', 'end.']],
    [false, ['readme', 'aux.c', 'end.']],
  ])('has the names that the disk distinguishes, which is %s for case', async (distinguishesCase, expected) => {
    const names = ['readme', 'README', 'aux.c', 'end.'];
    const server = await scriptedServer(archive(list(...names), ...names.map((name) => file(name)), end));
    const { tree, target } = await pull(server, { local: { distinguishes: () => distinguishesCase } });
    const { files, skipped } = await tree;
    expect(files.map(({ path: name }) => name)).toEqual(expected.map((name) => `/workspace/${name}`));
    expect(skipped.map(({ name }) => name)).toEqual(distinguishesCase ? [] : ['/workspace/README']);
    expect(await contentsOf(path.dirname(target))).toEqual(Object.fromEntries(expected.map((name) => [`out/${name}`, name])));
  });

  it.each([
    [401, 4],
    [403, 5],
  ])('that is refused with %i is not tried in another way', async (status, exit) => {
    const server = await scriptedServer(json(status, { error: 'no', message: 'No.' }));
    await expect(pull(server)).rejects.toMatchObject({ exit, message: expect.stringContaining('No.') });
    expect(server.requests).toHaveLength(1);
  });

  it('replaces files only if it may, keeps their permissions, and follows no links', async () => {
    const folder = await temporaryDirectory();
    await put(path.join(folder, 'a'), 'old', { mode: 0o600 });
    const offer = () => scriptedServer(archive(list('a', 'b'), file('a'), file('b'), end));
    const refused = await pull(await offer(), { folder });
    expect(await failureOf(refused.result)).toMatchObject({ code: 'file_exists', exit: 2 });
    expect(await contentsOf(folder)).toEqual({ a: 'old' });
    await (await pull(await offer(), { folder, replace: true })).result;
    expect(await contentsOf(folder)).toEqual({ a: 'a', b: 'b' });
    expect((await stat(path.join(folder, 'a'))).mode & 0o777).toBe(0o600);
    const outside = await temporaryDirectory();
    const linked = await temporaryDirectory();
    await symlink(outside, path.join(linked, 'd'));
    const server = await scriptedServer(archive(list('d/a'), file('d/a'), end));
    expect(await failureOf((await pull(server, { folder: linked, replace: true })).result)).toMatchObject({ exit: 2 });
    expect(await readdir(outside)).toEqual([]);
  });

  it('leaves no incomplete files behind when one cannot be written', async () => {
    const folder = await temporaryDirectory();
    const server = await scriptedServer(archive(list('a', 'b', 'd/c'), file('a'), file('b'), file('d/c'), end));
    // The folder of the last file appears as a file after everything was checked.
    const { result } = await pull(server, { folder, onBytes: () => writeFileSync(path.join(folder, 'd'), '') });
    expect(await failureOf(result)).toMatchObject({ exit: 2, message: expect.stringContaining('2 of 3 files are in') });
    expect(await contentsOf(folder)).toEqual({ a: 'a', b: 'b', d: '' });
  });

  it('leaves nothing behind when the command is aborted', async () => {
    const folder = await temporaryDirectory();
    const controller = new AbortController();
    const interruption = new AopsError('Interrupted.', { code: 'interrupted', exit: 130 });
    const server = await scriptedServer(cut(Buffer.concat([list('a', 'b'), file('a')])));
    const { client } = newClient(server.url);
    const opened = await openArchive(client, { runId: 'r' }, '/workspace', controller.signal);
    const onBytes = (): void => controller.abort(interruption);
    const result = pullTree(client, {
      run: { runId: 'r' },
      ...(opened as NonNullable<typeof opened>),
      folder: new LocalFolder(folder),
      replace: false,
      signal: controller.signal,
      onBytes,
    });
    expect(await failureOf(result)).toBe(interruption);
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('without an archive', () => {
  it.each([
    ['the route is unknown', json(404, { error: 'route_not_found', message: 'x' })],
    ['the method is unknown', json(405, { error: 'method_not_allowed', message: 'x' })],
    ['it is not implemented', json(501, { error: 'x', message: 'x' })],
    ['the sandbox was removed', json(404, { error: 'sandbox_not_found', message: 'x' })],
    ['the sandbox cannot be read', json(409, { error: 'sandbox_not_readable', message: 'x' })],
    ['something else answers', answer(200, '<html>', { 'content-type': 'text/html' })],
    ['the archive has no list', archive(file('a'), end)],
    ['the list is damaged', archive(tarFile('aops-files.json', '{"path":'), end)],
    ['a file in the list has no path', archive(tarFile('aops-files.json', '{"path":"/workspace","files":[{"size":1}]}'), end)],
    ['a file in the list has no size', archive(tarFile('aops-files.json', '{"path":"/workspace","files":[{"path":"/workspace/a"}]}'), end)],
    ['the list is larger than 64 MiB', cut(tarFile('aops-files.json', Buffer.alloc(64 * 1_048_576 + 1)).subarray(0, 1_000_000))],
    ['the list is not one of files', archive(tarFile('aops-files.json', '{"path":"/workspace","files":[1]}'), end)],
  ])('because %s, the files are listed, after one request', async (_, step) => {
    const server = await scriptedServer(step);
    expect(await openArchive(newClient(server.url).client, { runId: 'r' }, '/workspace', signal)).toBeUndefined();
    expect(server.requests).toHaveLength(1);
  });

  it('because there are too many files, it fails as a listing does', async () => {
    const server = await scriptedServer(
      json(400, { error: 'too_many_files', message: 'x' }),
      json(400, { error: 'too_deep', message: 'x' }),
    );
    const open = () => openArchive(newClient(server.url).client, { runId: 'r' }, '/workspace', signal);
    expect([await failureOf(open()), await failureOf(open())]).toMatchObject([{ code: 'too_many_files' }, { code: 'too_deep' }]);
  });

  it('because the service fails, the request is repeated', async () => {
    const server = await scriptedServer(json(500, { error: 'x', message: 'x' }), noAnswer('reset'), archive(list(), end));
    expect(await openArchive(newClient(server.url).client, { runId: 'r', agentId: 'a' }, '/workspace', signal)).toMatchObject({
      files: [],
    });
    expect(pathsOf(server)[2]).toBe('/v2/agents/a/runs/r/sandbox/files/archive?path=/workspace');
  });

  it('because the command was aborted, nothing is repeated', async () => {
    const server = await scriptedServer(noAnswer('reset'));
    const controller = new AbortController();
    const { client } = newClient(server.url, { onEvent: () => controller.abort(new Error('stopped')) });
    expect(await failureOf(openArchive(client, { runId: 'r' }, '/workspace', controller.signal))).toMatchObject({ message: 'stopped' });
    expect(server.requests).toHaveLength(1);
  });
});

describe('an archive that does not begin with its list', () => {
  const named = (name: string, content: object) => tarFile(name, JSON.stringify(content));
  it.each([
    ['is empty', end],
    ['begins with a file', Buffer.concat([named('/workspace/a', { path: '/workspace', files: [] }), end])],
    ['has a list without a path', Buffer.concat([named('aops-files.json', { path: 7, files: [] }), end])],
    ['has a list without files', Buffer.concat([named('aops-files.json', { path: '/workspace', files: 'none' }), end])],
    ['has a list with a file without a size', Buffer.concat([named('aops-files.json', { path: '/', files: [{ path: '/a' }] }), end])],
  ])('and %s is left to requests for the files themselves', async (_, bytes) => {
    const server = await scriptedServer(archive(bytes));
    const { client } = newClient(server.url);
    expect(await openArchive(client, { runId: 'r' }, '/workspace', signal)).toBeUndefined();
  });
});

it('files are in their places while later ones arrive', async () => {
  const target = path.join(await temporaryDirectory(), 'out');
  const files = Array.from({ length: 4 }, (_, index) => ({ path: `/workspace/${index}`, size: 4 * 1_048_576 }));
  let placedBeforeLast: string[] = [];
  async function* received() {
    for (const { path: name, size } of files.slice(0, 2)) yield { path: name, size, content: [Buffer.alloc(size)] as never };
    // Groups of 8 MiB are placed together, while the next one arrives.
    for (let turn = 0; turn < 10_000 && placedBeforeLast.length < 2; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      placedBeforeLast = (await readdir(target)).filter((name) => /^\d$/.test(name)).sort();
    }
    for (const { path: name, size } of files.slice(2)) yield { path: name, size, content: [Buffer.alloc(size)] as never };
  }
  const server = await scriptedServer();
  const run = { runId: 'r' };
  const folder = new LocalFolder(target);
  await pullTree(newClient(server.url).client, { run, base: '/workspace', files, received: received(), folder, replace: false, signal });
  expect([placedBeforeLast, (await readdir(target)).sort()]).toEqual([
    ['0', '1'],
    ['0', '1', '2', '3'],
  ]);
});

it('files that have arrived are removed if earlier ones cannot get their names', async () => {
  const target = path.join(await temporaryDirectory(), 'out');
  // Two groups of 8 MiB.
  const files = [0, 1, 2, 3].map((name) => ({ path: `/workspace/${name}`, size: 4 * 1_048_576 }));
  async function* received() {
    for (const [index, { path: name, size }] of files.entries()) {
      // It appears after everything was checked.
      if (index === 1) writeFileSync(path.join(target, '1'), 'mine');
      yield { path: name, size, content: [Buffer.alloc(size)] as never };
    }
  }
  const server = await scriptedServer();
  const pull = { run: { runId: 'r' }, base: '/workspace', files, received: received(), replace: false, signal };
  const failure = failureOf(pullTree(newClient(server.url).client, { ...pull, folder: new LocalFolder(target) }));
  expect(await failure).toMatchObject({ code: 'file_exists' });
  expect((await readdir(target)).sort()).toEqual(['0', '1']);
  expect(await readFile(path.join(target, '1'), 'utf8')).toBe('mine');
});

it('an archive is given up if its files must not be written', async () => {
  const target = await temporaryDirectory();
  await put(path.join(target, 'a'), 'mine');
  let isGivenUp = false;
  const received = Object.assign((async function* () {})(), {
    return: async () => {
      isGivenUp = true;
      return { value: undefined, done: true as const };
    },
  });
  const server = await scriptedServer();
  const pull = { run: { runId: 'r' }, base: '/workspace', files: [{ path: '/workspace/a', size: 1 }], received, replace: false, signal };
  expect(await failureOf(pullTree(newClient(server.url).client, { ...pull, folder: new LocalFolder(target) }))).toMatchObject({
    code: 'file_exists',
  });
  expect([isGivenUp, await contentsOf(target)]).toEqual([true, { a: 'mine' }]);
});
