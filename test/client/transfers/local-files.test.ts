import { existsSync, renameSync, symlinkSync } from 'node:fs';
import { chmod, lstat, mkdir, writeFile as put, readdir, readFile, rename, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type OpenFile, openDiskFile } from '../../../src/client/transfers/disk-file.ts';
import { type Content, LocalFolder, withByteCount } from '../../../src/client/transfers/local-files.ts';
import { unusableNames } from '../../../src/client/transfers/local-names.ts';
import { countOpenFiles } from '../../support/open-files.ts';
import { temporaryFolder } from '../../support/temporary.ts';
import { failureOf } from '../harness.ts';

const bytes = (...pieces: string[]) =>
  async function* (): AsyncGenerator<Uint8Array> {
    for (const piece of pieces) yield Buffer.from(piece);
  };

async function* failingChunks(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('half');
  throw new Error('broken off');
}

const write = (folder: string, name: string, content = bytes('x'), replace = false) =>
  new LocalFolder(folder).write(name, content, { replace });

/** Opens files on a disk that is full after this many bytes, and fails at the first byte beyond. */
const fullAfter =
  (freeBytes: number): OpenFile =>
  (file, mode) => {
    const disk = openDiskFile(file, mode);
    let remaining = freeBytes;
    return {
      ...disk,
      write(data, position) {
        if (remaining === 0) throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC', syscall: 'write' });
        const writeLength = Math.min(remaining, data.length);
        remaining -= writeLength;
        return disk.write(data.subarray(0, writeLength), position);
      },
    };
  };

describe('the folders of a file', () => {
  it('are created', async () => {
    const root = path.join(await temporaryFolder(), 'new');
    const folder = new LocalFolder(root);
    expect(folder.target('a/b/c.txt')).toBe(path.join(root, 'a/b/c.txt'));
    await Promise.all(['a/b/c.txt', 'a/b/d.txt', 'a/e'].map((name) => folder.write(name, bytes(name), { replace: false })));
    expect(await readFile(path.join(root, 'a/b/d.txt'), 'utf8')).toBe('a/b/d.txt');
  });

  it('are never links or files', async () => {
    const root = await temporaryFolder();
    const outsideFolder = await temporaryFolder();
    await symlink(outsideFolder, path.join(root, 'link'));
    await symlink('.', path.join(root, 'here'));
    await put(path.join(root, 'file'), '');
    for (const name of ['link/x', 'link/deep/x', 'file/x', 'here/x']) {
      const expected = { exit: 2, message: expect.stringContaining('is not a directory') };
      expect(() => new LocalFolder(root).check(name, true)).toThrow(expect.objectContaining(expected));
      expect(await failureOf(write(root, name))).toMatchObject(expected);
    }
    expect(await readdir(outsideFolder)).toEqual([]);
    expect(await readdir(root)).toEqual(['file', 'here', 'link']);
  });

  it('may be reached through a link that the user named', async () => {
    const folder = await temporaryFolder();
    await mkdir(path.join(folder, 'real'));
    await symlink('real', path.join(folder, 'named'));
    await write(path.join(folder, 'named'), 'a/b');
    expect(await readFile(path.join(folder, 'real/a/b'), 'utf8')).toBe('x');
  });

  it('are rejected when the target is a file', async () => {
    const file = path.join(await temporaryFolder(), 'file');
    await put(file, 'mine');
    expect(await failureOf(write(file, 'a'))).toMatchObject({ exit: 2, message: expect.stringContaining('is not a directory') });
    expect(await readFile(file, 'utf8')).toBe('mine');
  });

  it('that become links while a file is written receive nothing', async () => {
    const root = await temporaryFolder();
    const outsideFolder = await temporaryFolder();
    const swappedBefore: OpenFile = (file, mode) => {
      renameSync(path.join(root, 'a'), path.join(root, 'was-a'));
      symlinkSync(outsideFolder, path.join(root, 'a'));
      return openDiskFile(file, mode);
    };
    const first = new LocalFolder(root).write('a/x', bytes('secret'), { replace: false, openFile: swappedBefore });
    expect(await failureOf(first)).toMatchObject({ exit: 2, message: expect.stringContaining('was replaced') });
    expect(await readdir(outsideFolder)).toEqual([]);

    const otherFolder = await temporaryFolder();
    const swappedAfter = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('secret');
      await rename(path.join(otherFolder, 'a'), path.join(otherFolder, 'was-a'));
      await symlink(outsideFolder, path.join(otherFolder, 'a'));
    };
    await failureOf(write(otherFolder, 'a/x', swappedAfter));
    expect(await readdir(outsideFolder)).toEqual([]);
  });
});

describe('a folder to write into', () => {
  it('is usable if it exists, or can be created', async () => {
    const root = await temporaryFolder();
    for (const folder of [root, path.join(root, 'new'), path.join(root, 'new/deep')]) {
      const local = new LocalFolder(folder);
      local.checkItself();
      expect(local.isEmpty()).toBe(true);
    }
    expect(await readdir(root)).toEqual([]);
  });

  it('is not usable if there is a file in its place, or above it', async () => {
    const file = path.join(await temporaryFolder(), 'file');
    await put(file, '');
    for (const folder of [file, path.join(file, 'new')])
      expect(() => new LocalFolder(folder).checkItself()).toThrow(
        expect.objectContaining({ exit: 2, message: `${file} is not a directory, so nothing can be written below it.` }),
      );
  });

  it('is not empty if it contains a file', async () => {
    const root = await temporaryFolder();
    await put(path.join(root, 'file'), '');
    expect(new LocalFolder(root).isEmpty()).toBe(false);
  });
});

describe('names in a folder', () => {
  it('are distinguished if both can be files there, which is tried', async () => {
    const folder = await temporaryFolder();
    const future = new LocalFolder(path.join(folder, 'future/deep'));
    expect(future.distinguishes('a', 'b')).toBe(true);
    expect(future.distinguishes('a', 'a')).toBe(false);
    await put(path.join(folder, 'x'), '');
    expect(future.distinguishes('x', 'X')).toBe(!existsSync(path.join(folder, 'X')));
    expect(future.distinguishes('n'.repeat(300), 'a')).toBe(false);
    expect(await readdir(folder)).toEqual(['x']);
  });
});

describe('trials of names', () => {
  it('are remembered, and limited in number', async () => {
    const folder = new LocalFolder(await temporaryFolder());
    for (let index = 0; index < 1_000; index++) expect(folder.distinguishes(`a${index}`, 'b')).toBe(true);
    expect([folder.distinguishes('a', 'b'), folder.distinguishes('a7', 'b')]).toEqual([false, true]);
  });

  it('do not delay a service that names very many spellings of one name', async () => {
    const folder = new LocalFolder(await temporaryFolder());
    const spellings = Array.from({ length: 20_000 }, (_, number) =>
      [...'abcdefghijklmnop'].map((letter, index) => ((number >> index) & 1 ? letter.toUpperCase() : letter)).join(''),
    );
    let asked = 0;
    const problems = unusableNames(spellings, (name, otherName) => {
      asked++;
      return folder.distinguishes(name, otherName);
    });
    expect(problems.length).toBeGreaterThan(19_900);
    expect(asked).toBeLessThan(25_000);
  });
});

describe('a partial file', () => {
  /** A disk that does not complete a sync, and the operations on it. */
  const slowDisk = () => {
    const operations: string[] = [];
    let endSync = (): void => undefined;
    const openFile: OpenFile = (file, mode) => {
      const disk = openDiskFile(file, mode);
      return {
        ...disk,
        empty: () => {
          operations.push('empty');
          return disk.empty();
        },
        sync: () => {
          operations.push('sync');
          return new Promise((resolve) => {
            endSync = resolve;
          });
        },
        close: () => {
          operations.push('close');
          disk.close();
        },
      };
    };
    return { operations, openFile, endSync: () => endSync() };
  };

  it('does not wait for the disk after an abort, but is closed only when the disk is done', async () => {
    const folder = await temporaryFolder();
    const { operations, openFile, endSync } = slowDisk();
    const controller = new AbortController();
    const written = failureOf(new LocalFolder(folder).write('a', bytes('x'), { replace: false, openFile, signal: controller.signal }));
    while (!operations.includes('sync')) await turn();
    const reason = new Error('enough');
    controller.abort(reason);
    expect(await written).toBe(reason);
    expect(await readdir(folder)).toEqual([]);
    for (let turns = 0; turns < 20; turns += 1) await turn();
    expect(operations).toEqual(['sync', 'empty']);
    endSync();
    while (operations.length < 3) await turn();
    expect(operations).toEqual(['sync', 'empty', 'close']);
  });

  it('is complete on the disk before it gets its name', async () => {
    const folder = await temporaryFolder();
    const { operations, openFile, endSync } = slowDisk();
    const written = new LocalFolder(folder).write('a', bytes('x'), { replace: false, openFile });
    while (!operations.includes('sync')) await turn();
    expect((await readdir(folder)).filter((name) => name === 'a')).toEqual([]);
    endSync();
    await written;
    expect([await readdir(folder), operations]).toEqual([['a'], ['sync', 'close']]);
  });

  it('is not touched again after it was closed, even if it cannot get its name', async () => {
    const folder = await temporaryFolder();
    const operations: string[] = [];
    const openFile: OpenFile = (file, mode) => {
      const disk = openDiskFile(file, mode);
      return {
        ...disk,
        empty: () => {
          operations.push('empty');
          return disk.empty();
        },
        close: () => {
          operations.push('close');
          disk.close();
        },
      };
    };
    const content = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('theirs');
      await put(path.join(folder, 'a'), 'mine');
    };
    expect(await failureOf(new LocalFolder(folder).write('a', content, { replace: false, openFile }))).toMatchObject({
      code: 'file_exists',
    });
    expect([operations, await readdir(folder)]).toEqual([['close'], ['a']]);
  });

  it('can be in another folder on the same disk, and has the permissions that were requested', async () => {
    const [folder, workFolder] = [await temporaryFolder(), await temporaryFolder()];
    const partial: { name: string; mode: number }[] = [];
    const content = async function* (): AsyncGenerator<Uint8Array> {
      for (const name of await readdir(workFolder)) partial.push({ name, mode: (await stat(path.join(workFolder, name))).mode & 0o777 });
      yield Buffer.from('x');
    };
    await new LocalFolder(folder).write('a', content, { replace: false, workFolder, mode: 0o600 });
    // It is as private as the complete file already while it is written.
    expect(partial).toEqual([{ name: expect.stringMatching(/^\.aops-[0-9a-f-]{36}\.part$/), mode: 0o600 }]);
    expect([await readdir(workFolder), (await stat(path.join(folder, 'a'))).mode & 0o777]).toEqual([[], 0o600]);
    await new LocalFolder(folder).write('a', bytes('y'), { replace: true, mode: 0o640 });
    expect((await stat(path.join(folder, 'a'))).mode & 0o777).toBe(0o640);
  });
});

describe('the count of bytes', () => {
  it('is taken back when the content starts again or breaks off', async () => {
    const count = async (content: Content): Promise<number[]> => {
      const counts: number[] = [];
      const folder = await temporaryFolder();
      await new LocalFolder(folder)
        .write(
          'a',
          withByteCount(content, (bytes) => counts.push(bytes)),
          { replace: false },
        )
        .catch(() => undefined);
      return counts;
    };
    expect(await count(bytes('one', 'three'))).toEqual([3, 5]);
    expect(await count(failingChunks)).toEqual([4, -4]);
    const restartedContent: Content = async function* (restart) {
      yield* bytes('one', 'three')();
      await restart();
      yield* failingChunks();
    };
    expect(await count(restartedContent)).toEqual([3, 5, -8, 4, -4]);
  });
});

describe('writing', () => {
  it('writes the whole content, and no other file', async () => {
    const folder = await temporaryFolder();
    expect(await write(folder, 'a', bytes('one ', '', 'two'))).toBe(7);
    expect(await readFile(path.join(folder, 'a'), 'utf8')).toBe('one two');
    expect(await write(folder, 'empty', bytes())).toBe(0);
    const largeText = 'content of a large file, '.repeat(100_000);
    expect(await write(folder, 'large', bytes(...(largeText.match(/.{1,65536}/gs) as string[])))).toBe(largeText.length);
    expect(await readFile(path.join(folder, 'large'), 'utf8')).toBe(largeText);
    expect(await readdir(folder)).toEqual(['a', 'empty', 'large']);
  });

  it('writes everything or nothing with early syncs', async () => {
    const folder = await temporaryFolder();
    const piece = Buffer.alloc(1_048_576, 'content');
    const manyChunks = async function* (): AsyncGenerator<Uint8Array> {
      for (let count = 0; count < 70; count += 1) yield piece;
    };
    const brokenLate = async function* (): AsyncGenerator<Uint8Array> {
      yield* manyChunks();
      throw new Error('broken off');
    };
    const local = new LocalFolder(folder);
    expect(await local.write('a', manyChunks, { replace: false })).toBe(70 * piece.length);
    const content = await readFile(path.join(folder, 'a'));
    expect(content.equals(Buffer.concat(Array.from({ length: 70 }, () => piece)))).toBe(true);
    // It is closed during a sync, which does not affect the next file.
    expect(await failureOf(local.write('b', brokenLate, { replace: false }))).toMatchObject({ message: 'broken off' });
    expect(await local.write('c', bytes('whole'), { replace: false })).toBe(5);
    expect(await readdir(folder)).toEqual(['a', 'c']);
  });

  it('starts again on request', async () => {
    const folder = await temporaryFolder();
    const content = async function* (restart: () => Promise<void>): AsyncGenerator<Uint8Array> {
      yield Buffer.alloc(3_000_000, 'old');
      yield Buffer.from('old');
      await restart();
      yield Buffer.from('new');
    };
    expect(await new LocalFolder(folder).write('a', content, { replace: false })).toBe(3);
    expect(await readFile(path.join(folder, 'a'), 'utf8')).toBe('new');
  });

  it('does not replace an existing file unless that is allowed', async () => {
    const folder = await temporaryFolder();
    const target = path.join(folder, 'a');
    await put(target, 'mine');
    const expected = { exit: 2, code: 'file_exists', hint: expect.stringContaining('--force') };
    expect(() => new LocalFolder(folder).check('a', false)).toThrow(expect.objectContaining(expected));
    expect(await failureOf(write(folder, 'a', bytes('theirs')))).toMatchObject(expected);
    expect(await readFile(target, 'utf8')).toBe('mine');
    new LocalFolder(folder).check('a', true);
    await write(folder, 'a', bytes('theirs'), true);
    expect(await readFile(target, 'utf8')).toBe('theirs');
  });

  it('does not replace a file that appears meanwhile', async () => {
    const folder = await temporaryFolder();
    const content = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('theirs');
      await put(path.join(folder, 'a'), 'mine');
    };
    expect(await failureOf(write(folder, 'a', content))).toMatchObject({ code: 'file_exists' });
    expect(await readFile(path.join(folder, 'a'), 'utf8')).toBe('mine');
    expect(await readdir(folder)).toEqual(['a']);
  });

  it('does not replace a file that appears before staged files get their names, and removes the others', async () => {
    const folder = await temporaryFolder();
    const local = new LocalFolder(folder);
    const staged = [];
    for (const name of ['a', 'b', 'c']) staged.push(await local.stage(name, [Buffer.from('new')], false));
    await put(path.join(folder, 'b'), 'mine');
    let placed = 0;
    await expect(local.place(staged, new AbortController().signal, () => placed++)).rejects.toMatchObject({
      code: 'file_exists',
      message: `${path.join(folder, 'b')} already exists.`,
      hint: expect.stringContaining('--force'),
    });
    expect(placed).toBe(1);
    expect((await readdir(folder)).sort()).toEqual(['a', 'b']);
    expect(await readFile(path.join(folder, 'b'), 'utf8')).toBe('mine');
  });

  it('sets the usual permissions, and keeps those of a replaced file', async () => {
    const folder = await temporaryFolder();
    const modeOf = async (name: string): Promise<number> => (await stat(path.join(folder, name))).mode & 0o7777;
    const umask = process.umask();
    await write(folder, 'new/a');
    expect([await modeOf('new/a'), await modeOf('new')]).toEqual([0o644 & ~umask, 0o755 & ~umask]);
    await chmod(path.join(folder, 'new/a'), 0o4711);
    await write(folder, 'new/a', bytes('y'), true);
    expect(await modeOf('new/a')).toBe(0o711);
  });

  it('that breaks off leaves the old file, and no part of the new one', async () => {
    const folder = await temporaryFolder();
    expect(await failureOf(write(folder, 'a', failingChunks))).toMatchObject({ message: 'broken off' });
    expect(await readdir(folder)).toEqual([]);
    await put(path.join(folder, 'a'), 'mine');
    await failureOf(write(folder, 'a', failingChunks, true));
    expect(await readdir(folder)).toEqual(['a']);
    expect(await readFile(path.join(folder, 'a'), 'utf8')).toBe('mine');
  });

  it.each([0, 5, 1_500_000])('on a disk with space for %i bytes leaves nothing, and says why', async (freeBytes) => {
    const folder = await temporaryFolder();
    await put(path.join(folder, 'a'), 'mine');
    const content = bytes(...Array.from({ length: 30 }, () => 'x'.repeat(100_000)));
    const writing = new LocalFolder(folder).write('a', content, { replace: true, openFile: fullAfter(freeBytes) });
    expect(await failureOf(writing)).toMatchObject({ code: 'disk_full', exit: 1, message: expect.stringContaining('no space left') });
    expect(await readdir(folder)).toEqual(['a']);
    expect(await readFile(path.join(folder, 'a'), 'utf8')).toBe('mine');
  });

  it.each([
    ['EACCES', /permissions/],
    ['EPERM', /permissions/],
    ['EROFS', /read-only/],
  ])('without permission (%s) says so, and leaves nothing', async (code, reason) => {
    const folder = await temporaryFolder();
    const openFile = () => {
      throw Object.assign(new Error(code), { code, syscall: 'open' });
    };
    const writing = new LocalFolder(folder).write('a', bytes('x'), { replace: false, openFile });
    const failure = await failureOf<{ code: string; message: string; hint: string }>(writing);
    expect(failure.code).toBe('not_writable');
    expect(`${failure.message} ${failure.hint}`).toMatch(reason);
    expect(await readdir(folder)).toEqual([]);
  });

  it('is closed whatever happens', async () => {
    const folder = await temporaryFolder();
    const before = countOpenFiles();
    await write(folder, 'a');
    await failureOf(write(folder, 'b', failingChunks));
    await failureOf(new LocalFolder(folder).write('c', bytes('x'), { replace: false, openFile: fullAfter(0) }));
    // Files that are given up are closed when the disk is done with them.
    while (countOpenFiles() > before) await turn();
  });

  it('is left to a thread once a write has taken more than 20 ms', async () => {
    const disk = openDiskFile(path.join(await temporaryFolder(), 'file'), 0o600);
    const clock = vi.spyOn(performance, 'now');
    onTestFinished(() => void clock.mockRestore());
    const data = Buffer.from('abc');
    const writeIn = (milliseconds: number) => {
      clock.mockReturnValueOnce(100).mockReturnValueOnce(100 + milliseconds);
      return disk.write(data, 0);
    };
    expect([writeIn(20), writeIn(20.5)]).toEqual([3, 3]);
    const writePromise = disk.write(data, 0);
    expect(writePromise).toBeInstanceOf(Promise);
    expect(await writePromise).toBe(3);
    disk.close();
  });

  it('does not open an existing file', async () => {
    const folder = await temporaryFolder();
    await put(path.join(folder, 'file'), 'mine');
    await symlink(path.join(folder, 'nowhere'), path.join(folder, 'link'));
    for (const name of ['file', 'link']) expect(() => openDiskFile(path.join(folder, name), 0o644)).toThrow('EEXIST');
    expect(await readdir(folder)).toEqual(['file', 'link']);
  });

  it('never follows a link, nor replaces a link or a folder', async () => {
    const folder = await temporaryFolder();
    const victimPath = path.join(await temporaryFolder(), 'victim');
    await put(victimPath, 'safe');
    await symlink(victimPath, path.join(folder, 'link'));
    await symlink(path.join(folder, 'nowhere'), path.join(folder, 'dangling'));
    await mkdir(path.join(folder, 'folder'));
    for (const name of ['link', 'dangling', 'folder']) {
      const expected = { exit: 2, hint: expect.stringContaining('not a plain file') };
      expect(() => new LocalFolder(folder).check(name, true)).toThrow(expect.objectContaining(expected));
      expect(await failureOf(write(folder, name, bytes('x'), true))).toMatchObject(expected);
    }
    expect(await readFile(victimPath, 'utf8')).toBe('safe');
    expect((await lstat(path.join(folder, 'link'))).isSymbolicLink()).toBe(true);
    expect(await readdir(folder)).toEqual(['dangling', 'folder', 'link']);
  });

  it('supports the longest possible name', async () => {
    const folder = await temporaryFolder();
    await write(folder, 'n'.repeat(255));
    expect(await readdir(folder)).toEqual(['n'.repeat(255)]);
    const wide = 'é'.repeat(127);
    await write(folder, wide);
    expect(await readFile(path.join(folder, wide), 'utf8')).toBe('x');
  });
});
