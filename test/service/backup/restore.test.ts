/** Restores that are rejected, that find existing files, or that run at the same time. */
import { existsSync, statSync } from 'node:fs';
import { type FileHandle, mkdir, readdir, readFile, rm, rmdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { takeLock } from '../../../src/base/lock-file.ts';
import { newReadProgress, readBackup, restoreBackup } from '../../../src/service/backup/index.ts';
import { Places } from '../../../src/service/backup/places.ts';
import { afterTest, temporaryDirectory } from '../../support/temporary.ts';
import { fileHandles } from '../helpers/disk.ts';
import { archive, database, entryBytes, first, gzip, type Part, source, sumsOf } from './archives.ts';

const inertSignal = new AbortController().signal;
const workspace: Part = { name: 'sandboxes/a/workspace', type: 'folder' };
const note: Part = { name: 'sandboxes/a/workspace/note', content: 'note' };
const sums = (parts: readonly Part[]): Part => ({ name: 'SHA256SUMS', content: sumsOf(parts) });
const restore = (bytes: AsyncIterable<Uint8Array>, directory: string, signal = inertSignal) =>
  restoreBackup(bytes, directory, newReadProgress(), signal);

/** The bytes of a valid backup; `then` is awaited before the last ones. */
async function* interruptedChunks(interruption: () => Promise<unknown>): AsyncGenerator<Uint8Array> {
  const bytes = archive([first, workspace, note, database]);
  yield bytes.subarray(0, -10);
  await interruption();
  yield bytes.subarray(-10);
}

describe('verification and restore reject a backup if', () => {
  it.each([
    [
      'it contains a file that SHA256SUMS does not name',
      archive([first, database, note], sumsOf([first, database])),
      /"sandboxes\/a\/workspace\/note" does not match its checksum/,
    ],
    ['an entry follows SHA256SUMS', gzip([first, database, sums([first, database]), note].map(entryBytes)), /an entry follows its end/],
    [
      'an entry follows the end of the archive',
      gzip([...[first, database, sums([first, database])].map(entryBytes), Buffer.alloc(1_024), entryBytes(note)]),
      /an entry follows its end/,
    ],
    ['SHA256SUMS comes first', gzip([sums([]), first, database].map(entryBytes)), /not an aops backup/],
    ['it has no SHA256SUMS', gzip([first, database].map(entryBytes)), /ends too early/],
    [
      'a file has the name of a property of all objects',
      archive([first, database, { name: '__proto__', content: 'x' }]),
      /no file named "__proto__"/,
    ],
  ])('%s', async (_, bytes, message) => {
    const refusal = expect.objectContaining({ code: 'backup_damaged', message: expect.stringMatching(message) });
    const directory = path.join(await temporaryDirectory(), 'data');
    await expect(readBackup(source(bytes), undefined, newReadProgress(), inertSignal)).rejects.toEqual(refusal);
    await expect(restore(source(bytes), directory)).rejects.toEqual(refusal);
    await expect(readdir(directory)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

it('the number of entries is limited', () => {
  const places = new Places(2);
  places.take('aops.db', 'file');
  places.take('token', 'file');
  expect(() => places.take('secrets.key', 'file')).toThrow('it contains more than 2 entries');
});

it('nothing is written through a link that another process created in the folder', async () => {
  const [folder, otherDirectory] = [await temporaryDirectory(), await temporaryDirectory()];
  await symlink(otherDirectory, path.join(folder, 'sandboxes'));
  const parts = archive([first, workspace, note, database]);
  await expect(readBackup(source(parts), folder, newReadProgress(), inertSignal)).rejects.toMatchObject({
    code: 'backup_damaged',
    message: expect.stringMatching(/"sandboxes\/a\/workspace" passes through a link/),
  });
  expect(await readdir(otherDirectory, { recursive: true })).toEqual([]);
});

describe('existing files are never overwritten:', () => {
  it('a database next to the remains of a restore', async () => {
    const directory = await temporaryDirectory();
    await writeFile(path.join(directory, 'aops.db'), 'mine');
    await mkdir(path.join(directory, 'sandboxes'));
    await mkdir(path.join(directory, 'restoring', 'unpacked'), { recursive: true });
    await expect(
      restore(
        interruptedChunks(async () => undefined),
        directory,
      ),
    ).rejects.toMatchObject({ code: 'data_directory_not_empty' });
    expect(await readFile(path.join(directory, 'aops.db'), 'utf8')).toBe('mine');
    expect(await readdir(directory)).toContain('sandboxes');
  });

  it.each(['aops.db', 'token'])('%s, created while the backup was unpacked, of which nothing is left', async (name) => {
    const directory = await temporaryDirectory();
    const bytes = interruptedChunks(() => writeFile(path.join(directory, name), 'mine'));
    // A token conflicts only with a backup that contains one.
    const parts = [first, workspace, note, { name: 'token', content: 'theirs' }, database];
    const withToken = async function* () {
      const wholeArchive = archive(parts);
      yield wholeArchive.subarray(0, -10);
      await writeFile(path.join(directory, name), 'mine');
      yield wholeArchive.subarray(-10);
    };
    await expect(restore(name === 'token' ? withToken() : bytes, directory)).rejects.toMatchObject({ code: 'data_directory_not_empty' });
    expect(await readdir(directory)).toEqual([name]);
    expect(await readFile(path.join(directory, name), 'utf8')).toBe('mine');
  });
});

describe('a directory without a database', () => {
  it.each(['sandboxes', 'files', 'secrets.key', 'token', 'notes'])(
    'that contains only %s is not taken for an unfinished restore',
    async (name) => {
      const directory = await temporaryDirectory();
      await writeFile(path.join(directory, name), 'mine');
      await expect(restore(source(archive([first, database])), directory)).rejects.toMatchObject({ code: 'data_directory_not_empty' });
      expect(await readdir(directory)).toEqual([name]);
      expect(await readFile(path.join(directory, name), 'utf8')).toBe('mine');
    },
  );

  it('that contains the remains of an unfinished restore is used, and nothing of them stays', async () => {
    const directory = await temporaryDirectory();
    await mkdir(path.join(directory, 'restoring', 'unpacked', 'sandboxes'), { recursive: true });
    for (const [folder, file] of [
      ['sandboxes/old/workspace', 'old'],
      ['files/old', 'old'],
      ['.', 'token'],
      ['.', 'secrets.key'],
    ] as const) {
      await mkdir(path.join(directory, folder), { recursive: true });
      await writeFile(path.join(directory, folder, file), 'old');
    }
    await restore(source(archive([first, workspace, note, database])), directory);
    expect((await readdir(directory, { recursive: true })).sort()).toEqual(
      ['aops.db', 'sandboxes', 'sandboxes/a', 'sandboxes/a/workspace', 'sandboxes/a/workspace/note'].sort(),
    );
  });

  it('that contains the remains of an unfinished restore and anything else is rejected, and nothing is removed', async () => {
    const directory = await temporaryDirectory();
    await mkdir(path.join(directory, 'restoring'));
    for (const name of ['token', 'notes']) await writeFile(path.join(directory, name), 'mine');
    await expect(restore(source(archive([first, database])), directory)).rejects.toMatchObject({ code: 'data_directory_not_empty' });
    expect((await readdir(directory)).sort()).toEqual(['notes', 'restoring', 'token']);
  });

  it.each(['lost+found', '.DS_Store', 'service.log', 'service.log.1'])('that contains %s counts as empty, and keeps it', async (name) => {
    const directory = await temporaryDirectory();
    await writeFile(path.join(directory, name), 'mine');
    await restore(source(archive([first, database])), directory);
    expect((await readdir(directory)).sort()).toEqual([name, 'aops.db'].sort());
  });

  it('is created with its parents, which are removed again if the restore fails', async () => {
    const parent = await temporaryDirectory();
    const directory = path.join(parent, 'a/b/data');
    await expect(restore(source(archive([first])), directory)).rejects.toMatchObject({ code: 'backup_damaged' });
    expect(await readdir(parent)).toEqual([]);
    await restore(source(archive([first, database])), directory);
    expect(await readdir(directory)).toEqual(['aops.db']);
  });
});

describe('before a restore is finished', () => {
  /** Calls `act` before a file or folder of the directory is flushed to the disk, with its path in the directory. */
  async function onFlush(directory: string, act: (name: string) => void): Promise<void> {
    const handles = await fileHandles();
    const { sync } = handles;
    const spy = vi.spyOn(handles, 'sync').mockImplementation(async function (this: FileHandle) {
      const { ino } = await this.stat();
      const names = ['.', ...(await readdir(directory, { recursive: true }))];
      act(names.find((name) => statSync(path.join(directory, name)).ino === ino) ?? 'elsewhere');
      await sync.call(this);
    });
    afterTest(() => spy.mockRestore());
  }
  const key: Part = { name: 'secrets.key', content: 'key' };

  it('the keys and the database are on the disk, and then their names', async () => {
    const directory = path.join(await temporaryDirectory(), 'data');
    const flushedNames: string[] = [];
    await onFlush(directory, (name) => {
      // The database is moved into place only when everything is on the disk.
      flushedNames.push(`${name} ${existsSync(path.join(directory, 'aops.db'))}`);
    });
    await restore(source(archive([first, key, database])), directory);
    expect(flushedNames).toEqual(['restoring/unpacked/secrets.key false', 'restoring/unpacked/aops.db false', '. true']);
  });

  it('it can be aborted, and leaves nothing behind', async () => {
    const directory = path.join(await temporaryDirectory(), 'data');
    const controller = new AbortController();
    await onFlush(directory, () => controller.abort(new Error('Ctrl-C')));
    await expect(restore(source(archive([first, workspace, database])), directory, controller.signal)).rejects.toThrow('Ctrl-C');
    expect(existsSync(directory)).toBe(false);
  });

  it('a disk that fails leaves nothing behind', async () => {
    const directory = path.join(await temporaryDirectory(), 'data');
    await onFlush(directory, (name) => {
      if (name === '.') throw Object.assign(new Error('EIO'), { code: 'EIO' });
    });
    await expect(restore(source(archive([first, key, workspace, note, database])), directory)).rejects.toThrow('EIO');
    expect(existsSync(directory)).toBe(false);
  });
});

describe('if two restores use the same directory,', () => {
  /** A signal, and a promise that resolves when the restore with that signal waits for the lock. */
  function watchSignal(): { signal: AbortSignal; waiting: Promise<void> } {
    const { signal } = new AbortController();
    let attempts = 0;
    const waiting = new Promise<void>((resolve) => {
      signal.throwIfAborted = () => {
        attempts += 1;
        if (attempts === 2) resolve();
      };
    });
    return { signal, waiting };
  }

  it('the second is rejected and removes nothing that the first has just moved into place', async () => {
    const directory = await temporaryDirectory();
    const folder = path.join(directory, 'restoring');
    await mkdir(path.join(folder, 'unpacked'), { recursive: true });
    await mkdir(path.join(directory, 'sandboxes'));
    const unlock = await takeLock(path.join(folder, 'lock'));
    const { signal, waiting } = watchSignal();
    const second = restore(
      interruptedChunks(async () => undefined),
      directory,
      signal,
    );
    const outcome = second.then(
      () => 'restored',
      (error: { code?: string }) => error.code,
    );
    await waiting;
    await writeFile(path.join(directory, 'aops.db'), 'first');
    unlock?.();
    expect(await outcome).toBe('data_directory_not_empty');
    expect((await readdir(directory)).sort()).toEqual(['aops.db', 'sandboxes']);
  });

  it('the second is rejected with a clear error after the first has removed its folder', async () => {
    const directory = await temporaryDirectory();
    const folder = path.join(directory, 'restoring');
    await mkdir(folder);
    const unlock = await takeLock(path.join(folder, 'lock'));
    const { signal, waiting } = watchSignal();
    const outcome = restore(
      interruptedChunks(async () => undefined),
      directory,
      signal,
    ).catch((error: unknown) => error);
    await waiting;
    await writeFile(path.join(directory, 'aops.db'), 'first');
    unlock?.();
    await rm(folder, { recursive: true });
    expect(await outcome).toMatchObject({ code: 'data_directory_not_empty' });
    expect(await readdir(directory)).toEqual(['aops.db']);
  });

  it('the second succeeds after the first has failed and removed the directory that it had created', async () => {
    const directory = path.join(await temporaryDirectory(), 'data');
    const folder = path.join(directory, 'restoring');
    await mkdir(folder, { recursive: true });
    const unlock = await takeLock(path.join(folder, 'lock'));
    const { signal, waiting } = watchSignal();
    const second = restore(
      interruptedChunks(async () => undefined),
      directory,
      signal,
    );
    await waiting;
    unlock?.();
    await rmdir(folder);
    await rmdir(directory);
    await second;
    expect((await readdir(directory)).sort()).toEqual(['aops.db', 'sandboxes']);
  });

  it('the first does not remove the folder that the second has taken over', async () => {
    const directory = await temporaryDirectory();
    const { signal, waiting } = watchSignal();
    let second: Promise<unknown> | undefined;
    const bytes = async function* () {
      const wholeArchive = archive([first, database], `${'0'.repeat(64)}  aops.db\n`);
      yield wholeArchive.subarray(0, 50);
      second = restore(
        interruptedChunks(async () => undefined),
        directory,
        signal,
      );
      await waiting;
      yield wholeArchive.subarray(50);
    };
    await expect(restore(bytes(), directory)).rejects.toMatchObject({ code: 'backup_damaged' });
    await second;
    expect((await readdir(directory)).sort()).toEqual(['aops.db', 'sandboxes']);
  });
});
