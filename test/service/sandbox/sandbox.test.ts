import { execFileSync } from 'node:child_process';
import { appendFile, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, truncate, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { hasCode, locate, namesOf } from '../../../src/service/sandbox/paths.ts';
import type { Sandbox } from '../../../src/service/sandbox/sandbox.ts';
import { SandboxStore } from '../../../src/service/sandbox/sandbox-store.ts';
import { openFilesIn } from '../../support/open-files.ts';
import { afterTest } from '../../support/temporary.ts';
import { fileHandles, manyTurns } from '../helpers/disk.ts';
import { onDiskCall } from '../helpers/disk-calls.ts';

let base: string;
let outsideFolder: string;
let store: SandboxStore;
let sandbox: Sandbox;

beforeEach(async () => {
  base = await mkdtemp(path.join(tmpdir(), 'aops-sandbox-'));
  outsideFolder = path.join(base, 'outside');
  await mkdir(outsideFolder);
  await writeFile(path.join(outsideFolder, 'secret.txt'), 'secret');
  store = new SandboxStore(path.join(base, 'sandboxes'));
  sandbox = await store.create('s1');
});
afterEach(() => rm(base, { recursive: true, force: true }));

const onDisk = (...names: string[]) => path.join(sandbox.directory, ...names);
const text = async (input: string) => (await sandbox.read(input, 1_000)).bytes.toString();
const refusal = (status: number, error: string) => ({ status, error });
const stagingFiles = () => readdir(path.join(sandbox.directory, '..', 'staging'));

describe('SandboxStore', () => {
  it('creates, opens, and removes sandboxes', async () => {
    await sandbox.write('a', Buffer.from('x'));
    expect((await store.create('s1')).directory).toBe(sandbox.directory);
    const openedSandbox = await store.open('s1');
    expect(openedSandbox?.id).toBe('s1');
    expect((await openedSandbox?.list(''))?.map((entry) => entry.name)).toEqual(['a']);
    await store.remove('s1');
    expect(await store.open('s1')).toBeUndefined();
    await store.remove('s1');
  });

  it('refuses IDs that are not plain words', async () => {
    for (const id of ['', '..', '../outside', 'a/b', '.hidden', 'a\0b', 'x'.repeat(129)]) {
      await expect(store.create(id)).rejects.toMatchObject(refusal(400, 'invalid_sandbox_id'));
      expect(await store.open(id)).toBeUndefined();
      await store.remove(id);
    }
    expect(await readdir(outsideFolder)).toEqual(['secret.txt']);
  });

  it('creates directories that only their owner can enter', async () => {
    await sandbox.write('a/b/c', Buffer.from('x'));
    for (const directory of [sandbox.directory, onDisk('a'), onDisk('a', 'b')]) expect((await lstat(directory)).mode & 0o777).toBe(0o700);
  });
});

describe('paths', () => {
  it('treats /workspace/a, a, and ./a as the same path', async () => {
    await sandbox.write('d/a.txt', Buffer.from('x'));
    for (const input of ['/workspace/d/a.txt', 'd/a.txt', './d/a.txt', 'd//./a.txt', '/workspace//d/a.txt']) {
      expect(await sandbox.stat(input)).toMatchObject({ name: 'a.txt', path: '/workspace/d/a.txt' });
    }
    for (const input of ['', '.', './', '/workspace', '/workspace/'])
      expect((await sandbox.list(input)).map((entry) => entry.path)).toEqual(['/workspace/d']);
    expect(await sandbox.stat('/workspace')).toMatchObject({ name: 'workspace', path: '/workspace', type: 'directory' });
  });

  const escapes = [
    '..',
    '../x',
    'a/../../x',
    '/workspace/../x',
    '/etc/passwd',
    '/',
    '//workspace/../x',
    '/workspacex',
    'a\0b',
    'a\\b',
    '..\\x',
    'n'.repeat(256),
    'd/'.repeat(1_100),
  ];
  it.each(escapes)('refuses %j everywhere', async (input) => {
    const error = refusal(400, 'invalid_path');
    await expect(sandbox.list(input)).rejects.toMatchObject(error);
    await expect(sandbox.stat(input)).rejects.toMatchObject(error);
    await expect(sandbox.read(input, 10)).rejects.toMatchObject(error);
    await expect(sandbox.openRead(input)).rejects.toMatchObject(error);
    await expect(sandbox.write(input, Buffer.from('x'))).rejects.toMatchObject(error);
  });

  it('never returns names that lead outside, whatever the path', () => {
    const piece = fc.oneof(fc.constantFrom('..', '.', '/', '//', '\\', '\0', 'workspace', 'a', '%2e%2e', '…'), fc.string());
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        let names: string[];
        try {
          names = namesOf(pieces.join('/'));
        } catch {
          return;
        }
        expect(path.join('/root', ...names).startsWith('/root')).toBe(true);
        expect(names.every((name) => name !== '..' && !name.includes('/') && !name.includes('\0'))).toBe(true);
      }),
    );
  });

  it('accepts names of 255 bytes and paths of 2,048 bytes', () => {
    const [name, deepPath] = [`${'ä'.repeat(127)}x`, `${'d/'.repeat(1_023)}dd`];
    expect([namesOf(name), namesOf(deepPath).length]).toEqual([[name], 1_024]);
    for (const input of [`${name}x`, `${deepPath}d`])
      expect(() => namesOf(input)).toThrow(expect.objectContaining({ error: 'invalid_path' }));
  });

  it('appear in messages in quotes, shortened, and with control characters escaped', async () => {
    const rejects = (input: string) => expect(() => namesOf(input));
    rejects('a\u001b\0').toThrow('The path "a\\u001b\\u0000" is not allowed: it contains a NUL character.');
    rejects(`${'x'.repeat(198)}..\\`).toThrow(`The path "${'x'.repeat(198)}..…" is not allowed`);
    rejects(`${'x'.repeat(199)}\\`).toThrow(`The path "${'x'.repeat(199)}\\\\" is not allowed`);
    await sandbox.write('\u001bd/a', Buffer.from('x'));
    await expect(sandbox.read('\u001b', 1)).rejects.toThrow('There is no file or directory "/workspace/\\u001b" in the sandbox.');
    await expect(sandbox.read('\u001bd', 1)).rejects.toThrow('"/workspace/\\u001bd" is not a file.');
    await expect(sandbox.list('\u001bd/a')).rejects.toThrow('"/workspace/\\u001bd/a" is not a directory.');
  });

  it('do not exist if the workspace was removed, and reading creates no directories', async () => {
    await expect(sandbox.read('new/deep/a', 1)).rejects.toMatchObject(refusal(404, 'file_not_found'));
    expect(await readdir(sandbox.directory)).toEqual([]);
    await rm(sandbox.directory, { recursive: true });
    await expect(sandbox.write('a', Buffer.from('x'))).rejects.toMatchObject({
      ...refusal(404, 'file_not_found'),
      message: 'There is no file or directory "/workspace" in the sandbox.',
    });
  });

  it('can be created by several writers at the same time', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `new/deep/${index}`);
    await Promise.all(names.map((name) => sandbox.write(name, Buffer.from(name))));
    expect((await sandbox.list('new/deep')).map((entry) => entry.path)).toEqual(names.map((name) => `/workspace/${name}`).sort());
  });

  it('that the system cannot look up or create are not reported as missing', async () => {
    await expect(locate('/a'.repeat(3_000), 'x')).rejects.toMatchObject({ code: 'ENAMETOOLONG' });
    // No directory can be created there.
    await expect(locate('/proc', 'nope/x', { createParents: true })).rejects.toMatchObject({ code: 'ENOENT', syscall: 'mkdir' });
  });

  it('distinguishes missing paths, files, and directories', async () => {
    await sandbox.write('d/a.txt', Buffer.from('x'));
    await expect(sandbox.read('nope', 1)).rejects.toMatchObject(refusal(404, 'file_not_found'));
    await expect(sandbox.list('nope/nope')).rejects.toMatchObject(refusal(404, 'file_not_found'));
    await expect(sandbox.read('d', 1)).rejects.toMatchObject(refusal(400, 'not_a_file'));
    await expect(sandbox.openRead('d')).rejects.toMatchObject(refusal(400, 'not_a_file'));
    await expect(sandbox.list('d/a.txt')).rejects.toMatchObject(refusal(400, 'not_a_directory'));
    await expect(sandbox.read('d/a.txt/x', 1)).rejects.toMatchObject(refusal(400, 'not_a_directory'));
    await expect(sandbox.write('d', Buffer.from('x'))).rejects.toMatchObject(refusal(400, 'not_a_file'));
    await expect(sandbox.write('', Buffer.from('x'))).rejects.toMatchObject(refusal(400, 'not_a_file'));
    await expect(sandbox.write('d/a.txt/x', Buffer.from('x'))).rejects.toMatchObject(refusal(400, 'not_a_directory'));
    await expect(sandbox.write('new/', Buffer.from('x'))).rejects.toMatchObject(refusal(400, 'invalid_path'));
  });
});

describe('links', () => {
  const error = refusal(400, 'invalid_path');

  it('does not follow a link to a file outside', async () => {
    await symlink(path.join(outsideFolder, 'secret.txt'), onDisk('link'));
    await expect(sandbox.read('link', 10)).rejects.toMatchObject(error);
    await expect(sandbox.openRead('link')).rejects.toMatchObject(error);
    await expect(sandbox.stat('link')).rejects.toMatchObject(error);
    await expect(sandbox.write('link', Buffer.from('x'))).rejects.toMatchObject(error);
    expect(await sandbox.list('')).toEqual([]);
    expect(await readFile(path.join(outsideFolder, 'secret.txt'), 'utf8')).toBe('secret');
  });

  it('does not follow a link to a directory outside, and does not create anything in it', async () => {
    await symlink(outsideFolder, onDisk('dir'));
    await expect(sandbox.list('dir')).rejects.toMatchObject(error);
    await expect(sandbox.read('dir/secret.txt', 10)).rejects.toMatchObject(error);
    await expect(sandbox.write('dir/new.txt', Buffer.from('x'))).rejects.toMatchObject(error);
    await expect(sandbox.write('dir/deep/new.txt', Buffer.from('x'))).rejects.toMatchObject(error);
    expect(await readdir(outsideFolder)).toEqual(['secret.txt']);
  });

  it('responds in the same way to links to existing and missing files', async () => {
    await symlink(path.join(outsideFolder, 'nope'), onDisk('dangling'));
    await symlink('loop', onDisk('loop'));
    await symlink('../../..', onDisk('up'));
    // A directory whose name merely begins in the same way.
    await mkdir(`${sandbox.directory}-other`);
    await writeFile(path.join(`${sandbox.directory}-other`, 'x'), 'secret');
    await symlink('../workspace-other', onDisk('similar'));
    for (const input of ['dangling', 'loop', 'up', 'up/x', 'similar', 'similar/x'])
      await expect(sandbox.stat(input)).rejects.toMatchObject(error);
    await expect(sandbox.write('dangling', Buffer.from('x'))).rejects.toMatchObject(error);
    expect(await readdir(outsideFolder)).toEqual(['secret.txt']);
  });

  it('follows links that stay inside', async () => {
    await sandbox.write('d/a.txt', Buffer.from('inside'));
    await symlink('d', onDisk('e'));
    expect(await text('e/a.txt')).toBe('inside');
    await sandbox.write('e/b.txt', Buffer.from('b'));
    expect(await text('d/b.txt')).toBe('b');
    expect((await sandbox.list('')).map((entry) => entry.name)).toEqual(['d']);
  });

  it('does not write outside when a directory is replaced with a link while the data arrives', async () => {
    await sandbox.write('d/old.txt', Buffer.from('old'));
    async function* slowChunks() {
      yield Buffer.from('first ');
      await rename(onDisk('d'), onDisk('moved'));
      await symlink(outsideFolder, onDisk('d'));
      yield Buffer.from('second');
    }
    await expect(sandbox.write('d/new.txt', slowChunks())).rejects.toMatchObject(error);
    expect(await readdir(outsideFolder)).toEqual(['secret.txt']);
    expect(await stagingFiles()).toEqual([]);
  });

  it('never reads outside while a directory is being replaced with a link', async () => {
    await sandbox.write('d/secret.txt', Buffer.from('inside'));
    const swap = async () => {
      await rename(onDisk('d'), onDisk('kept'));
      await symlink(outsideFolder, onDisk('d'));
      await unlink(onDisk('d'));
      await rename(onDisk('kept'), onDisk('d'));
    };
    for (let round = 0; round < 150; round++) {
      const [readResult, listResult] = await Promise.all([
        text('d/secret.txt').catch(() => 'refused'),
        sandbox.list('d').catch(() => []),
        swap(),
      ]);
      expect(['inside', 'refused']).toContain(readResult);
      expect(listResult.every((entry) => entry.size === 6 && entry.path === '/workspace/d/secret.txt')).toBe(true);
    }
  });

  it('does not wait for named pipes, nor open them, which a command that writes to one would notice', async () => {
    execFileSync('mkfifo', [onDisk('pipe')]);
    onDiskCall('before', 'open', onDisk('pipe'), () => Promise.reject(new Error('The pipe was opened.')));
    await expect(sandbox.read('pipe', 10)).rejects.toMatchObject(refusal(400, 'not_a_file'));
    await expect(sandbox.write('pipe', Buffer.from('x'))).rejects.toMatchObject(refusal(400, 'not_a_file'));
    expect(await sandbox.list('')).toEqual([]);
  });
});

describe('read', () => {
  it('describes files', async () => {
    await sandbox.write('a.csv', Buffer.from('x,y\n'));
    await sandbox.write('b.PNG', Buffer.from([0x89, 0x50, 0, 1]));
    await sandbox.write('c', Buffer.from(''));
    await sandbox.write('d/e.json', Buffer.from('{}'));
    expect(await sandbox.list('/workspace')).toEqual([
      { name: 'a.csv', path: '/workspace/a.csv', type: 'file', size: 4, modifiedAt: expect.any(Date), isText: true, mimeType: 'text/csv' },
      {
        name: 'b.PNG',
        path: '/workspace/b.PNG',
        type: 'file',
        size: 4,
        modifiedAt: expect.any(Date),
        isText: false,
        mimeType: 'image/png',
      },
      { name: 'c', path: '/workspace/c', type: 'file', size: 0, modifiedAt: expect.any(Date), isText: true, mimeType: null },
      { name: 'd', path: '/workspace/d', type: 'directory', size: 0, modifiedAt: expect.any(Date), isText: false, mimeType: null },
    ]);
  });

  it('recognises text by its first 64 KiB, wherever they are cut', async () => {
    for (const shift of [0, 1, 2, 3]) {
      await sandbox.write('t', Buffer.from('x'.repeat(shift) + '€😀'.repeat(20_000)));
      expect((await sandbox.stat('t')).isText).toBe(true);
    }
    await sandbox.write('t', Buffer.concat([Buffer.from('fine'), Buffer.from([0xe2, 0x82])]));
    expect((await sandbox.stat('t')).isText).toBe(false);
    await sandbox.write('t', Buffer.from('a\0b'));
    expect((await sandbox.stat('t')).isText).toBe(false);
    await sandbox.write('t', Buffer.from([0xff, 0xfe, 0x41]));
    expect((await sandbox.stat('t')).isText).toBe(false);
  });

  it('reads up to a limit', async () => {
    await sandbox.write('a', Buffer.from('0123456789'));
    expect(await sandbox.read('a', 4)).toMatchObject({ bytes: Buffer.from('0123'), truncated: true, entry: { size: 10 } });
    expect(await sandbox.read('a', 10)).toMatchObject({ bytes: Buffer.from('0123456789'), truncated: false });
  });

  it('streams whole files and ranges', async () => {
    await sandbox.write('a', Buffer.from('0123456789'));
    const stream = async (range?: { start: number; end: number }) => {
      const openedFile = await sandbox.openRead('a', range);
      expect(openedFile.size).toBe(10);
      return (await buffer(openedFile.stream)).toString();
    };
    expect(await stream()).toBe('0123456789');
    expect(await stream({ start: 2, end: 4 })).toBe('234');
    expect(await stream({ start: 8, end: 99 })).toBe('89');
    expect(await stream({ start: 10, end: 20 })).toBe('');
    expect(await stream({ start: 0, end: 0 })).toBe('0');
    const growing = await sandbox.openRead('a');
    await appendFile(onDisk('a'), 'later');
    expect((await buffer(growing.stream)).toString()).toBe('0123456789');
    await sandbox.write('a', Buffer.from(''));
    expect((await buffer((await sandbox.openRead('a')).stream)).length).toBe(0);
  });

  it('judges only the first 64 KiB', async () => {
    await sandbox.write('t', Buffer.concat([Buffer.alloc(64 * 1024, 'x'), Buffer.from([0])]));
    expect((await sandbox.stat('t')).isText).toBe(true);
    await sandbox.write('t', Buffer.concat([Buffer.alloc(64 * 1024 - 1, 'x'), Buffer.from([0])]));
    expect((await sandbox.stat('t')).isText).toBe(false);
  });

  it('is complete if the disk returns fewer bytes than requested, and ends if the file became shorter', async () => {
    await sandbox.write('a', Buffer.from('0123456789'));
    const handles = await fileHandles();
    const { read, stat } = handles as unknown as Record<'read' | 'stat', (...values: unknown[]) => Promise<never>>;
    const spies = [
      vi.spyOn(handles, 'read').mockImplementation(function (
        this: unknown,
        bytes: unknown,
        offset: unknown,
        length: unknown,
        position: unknown,
      ) {
        return read.call(this, bytes, offset, Math.min(Number(length), 3), position);
      } as never),
    ];
    afterTest(() => spies.forEach((spy) => void spy.mockRestore()));
    expect(await text('a')).toBe('0123456789');
    let stats = 0;
    spies.push(
      vi.spyOn(handles, 'stat').mockImplementation(async function (this: unknown) {
        const result = await stat.call(this);
        stats += 1;
        // The second one says how much to read.
        if (stats === 2) await truncate(onDisk('a'), 4);
        return result;
      } as never) as never,
    );
    expect(await text('a')).toBe('0123');
  });

  it('reports problems of the host', async () => {
    await sandbox.write('a', Buffer.from('0123456789'));
    await mkdir(onDisk('d'));
    const failure = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }));
    for (const attempt of [() => sandbox.read('a', 5), () => sandbox.list('')]) {
      onDiskCall('before', 'open', onDisk('a'), failure('EMFILE'));
      await expect(attempt()).rejects.toMatchObject({ code: 'EMFILE' });
    }
    onDiskCall('before', 'open', onDisk('a'), failure('EACCES'));
    expect((await sandbox.list('')).map(({ name }) => name)).toEqual(['d']);
  });

  it('closes every file immediately, also after a failure', async () => {
    await sandbox.write('a', Buffer.from('0123456789'));
    await sandbox.write('d/b', Buffer.from(''));
    // Not later: what is left open is closed at some time, when its memory is collected.
    const handles = await fileHandles();
    const { stat } = handles;
    const failLater = (call: number) => {
      let calls = 0;
      const spy = vi.spyOn(handles, 'stat').mockImplementation(async function (this: typeof handles) {
        calls += 1;
        if (calls < call) return stat.call(this);
        spy.mockRestore();
        throw Object.assign(new Error('EIO'), { code: 'EIO' });
      } as never);
      afterTest(async () => spy.mockRestore());
    };
    const attempts = [() => sandbox.read('a', 5), () => sandbox.stat('a'), () => sandbox.list(''), () => sandbox.openRead('a')];
    for (const attempt of attempts.slice(0, 3)) {
      await attempt();
      expect(await openFilesIn(base), String(attempt)).toEqual([]);
    }
    for (const call of [1, 2])
      for (const attempt of attempts) {
        failLater(call);
        await expect(attempt(), String(attempt)).rejects.toMatchObject({ code: 'EIO' });
        expect(await openFilesIn(base), `${attempt} ${call}`).toEqual([]);
      }
    for (const [name, range] of [
      ['a', { start: 20, end: 30 }],
      ['d/b', undefined],
      ['a', undefined],
    ] as const) {
      const { stream } = await sandbox.openRead(name, range);
      const closePromise = new Promise<void>((resolve) => stream.once('close', () => resolve()));
      await buffer(stream);
      await closePromise;
      await manyTurns();
      expect(await openFilesIn(base), name).toEqual([]);
    }
    onDiskCall('before', 'readlink', /^\/proc\/self\/fd/, () => rename(sandbox.directory, `${sandbox.directory}-moved`));
    await expect(sandbox.read('a', 5)).rejects.toMatchObject(refusal(400, 'invalid_path'));
    expect(await openFilesIn(base)).toEqual([]);
  });
});

describe('write', () => {
  it('replaces files and creates directories', async () => {
    expect(await sandbox.write('./x/y/z.txt', Buffer.from('one'))).toEqual({ path: '/workspace/x/y/z.txt', size: 3 });
    await sandbox.write('x/y/z.txt', Buffer.from('three'));
    expect(await text('x/y/z.txt')).toBe('three');
  });

  it('leaves nothing behind above the limit, and keeps the old file', async () => {
    async function* chunks() {
      for (let i = 0; i < 5; i++) yield Buffer.from('xxxx');
    }
    await sandbox.write('a', Buffer.from('old'));
    await expect(sandbox.write('a', chunks(), { limit: 10 })).rejects.toMatchObject(refusal(413, 'file_too_large'));
    await expect(sandbox.write('new/deep/a', chunks(), { limit: 10 })).rejects.toMatchObject(refusal(413, 'file_too_large'));
    await expect(sandbox.write('new/b', Buffer.from('xxxx'), { limit: 3 })).rejects.toMatchObject(refusal(413, 'file_too_large'));
    expect(await text('a')).toBe('old');
    expect((await sandbox.list('')).map((entry) => entry.name)).toEqual(['a']);
    expect(await stagingFiles()).toEqual([]);
    expect((await sandbox.write('a', chunks(), { limit: 20 })).size).toBe(20);
    expect((await sandbox.write('a', Buffer.from('12345'), { limit: 5 })).size).toBe(5);
  });

  it.each([
    ['open', /staging/],
    ['rename', /staging/],
  ] as const)('reports that the disk failed to %s the new file, and leaves nothing behind', async (call, place) => {
    await sandbox.write('a', Buffer.from('old'));
    onDiskCall('before', call, place, () => Promise.reject(Object.assign(new Error('no space'), { code: 'ENOSPC' })));
    await expect(sandbox.write('a', Buffer.from('new'))).rejects.toMatchObject({ code: 'ENOSPC' });
    expect([await text('a'), await stagingFiles()]).toEqual(['old', []]);
  });

  it('has its bytes on the disk before the file appears', async () => {
    const sync = vi.spyOn(await fileHandles(), 'sync').mockRejectedValueOnce(Object.assign(new Error('EIO'), { code: 'EIO' }));
    afterTest(() => sync.mockRestore());
    await sandbox.write('a', Buffer.from('old')).catch(() => undefined);
    expect([sync.mock.calls.length, await sandbox.list(''), await stagingFiles()]).toEqual([1, [], []]);
  });

  it('has the bytes of many files on the disk before any of them appears', async () => {
    const sync = vi.spyOn(await fileHandles(), 'sync').mockRejectedValueOnce(Object.assign(new Error('EIO'), { code: 'EIO' }));
    afterTest(() => sync.mockRestore());
    async function* files() {
      for (const name of ['a', 'new/b']) yield { path: name, content: Readable.from([Buffer.from('x')]) };
    }
    await expect(sandbox.writeAll(files())).rejects.toMatchObject({ code: 'EIO' });
    expect([await sandbox.list(''), await stagingFiles()]).toEqual([[], []]);
  });

  it('leaves nothing behind when the data ends in an error', async () => {
    async function* failingChunks() {
      yield Buffer.from('x');
      throw new Error('connection lost');
    }
    await expect(sandbox.write('a', failingChunks())).rejects.toThrow('connection lost');
    expect(await sandbox.list('')).toEqual([]);
    expect(await stagingFiles()).toEqual([]);
  });
});

it.each([
  [Object.assign(new Error('x'), { code: 'ENOENT' }), true],
  [Object.assign(new Error('x'), { code: 'EEXIST' }), true],
  [Object.assign(new Error('x'), { code: 'EIO' }), false],
  [new Error('x'), false],
  [{ code: 'ENOENT' }, false],
  [null, false],
])('recognises the code of an error: %j %s', (error, expected) => {
  expect(hasCode(error, 'ENOENT', 'EEXIST', 'undefined')).toBe(expected);
});
