/** The order in which a data directory is copied, and what becomes of files that change meanwhile. */
import { createHash } from 'node:crypto';
import { appendFileSync, rmSync, symlinkSync, truncateSync } from 'node:fs';
import { chmod, lutimes, mkdir, mkdtemp, readdir, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readTar } from '../../../src/base/tar/tar-reader.ts';
import { type BackupProgress, backupBytes, type HeldDirectory, holdStopped, newProgress } from '../../../src/service/backup/index.ts';
import { countOpenFiles } from '../../support/open-files.ts';
import { itNeeding, needsPosix } from '../../support/requirements.ts';
import { afterTest, temporaryDirectory } from '../../support/temporary.ts';
import { sandboxFile, storedData } from './stored-data.ts';

const inertSignal = new AbortController().signal;
const sha256 = (content: string) => createHash('sha256').update(content).digest('hex');

async function holdDirectory(directory: string, changes: Partial<HeldDirectory> = {}): Promise<HeldDirectory> {
  const stoppedDirectory = await holdStopped(directory, Date.parse('2026-07-18T09:00:00.000Z'));
  afterTest(() => stoppedDirectory.release());
  return { ...stoppedDirectory, ...changes };
}

/** Writes a backup into memory; `progress` shows how far. The file of the copied database is gone afterwards. */
async function writeArchive(directory: HeldDirectory, progress: BackupProgress = newProgress(), signal = inertSignal): Promise<Buffer> {
  const work = await temporaryDirectory();
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of backupBytes(directory, path.join(work, 'aops.db'), progress, signal)) chunks.push(chunk);
  } finally {
    expect(await readdir(work)).toEqual([]);
  }
  return Buffer.concat(chunks);
}

async function entriesOf(bytes: Buffer) {
  const entries = [];
  for await (const { content, position: _, ...entry } of readTar(Readable.from([bytes]).pipe(createGunzip()))) {
    const chunks: Buffer[] = [];
    for await (const chunk of content()) chunks.push(chunk);
    entries.push({ ...entry, text: Buffer.concat(chunks) });
  }
  return entries;
}

/** A directory with a file of a finished run and one of an unfinished run, in their sandboxes and of the runs themselves. */
async function twoRuns() {
  const { directory, rows } = await storedData();
  for (const [id, status] of [
    ['ended', 'completed'],
    ['open', 'waiting'],
  ] as const) {
    rows.run(id, { status });
    await sandboxFile(directory, id, 'note', `note of ${id}`);
    rows.runFile(`file-${id}`, id, sha256(`file of ${id}`));
    await mkdir(path.join(directory, 'files', id), { recursive: true });
    await writeFile(path.join(directory, 'files', id, `file-${id}`), `file of ${id}`);
  }
  await writeFile(path.join(directory, 'token'), 'token');
  await writeFile(path.join(directory, 'secrets.key'), 'key');
  return { directory, rows };
}

describe('a backup', () => {
  it('contains the sandboxes of unfinished runs before everything else, and the database and the checksums last', async () => {
    const { directory } = await twoRuns();
    const names = (await entriesOf(await writeArchive(await holdDirectory(directory)))).map(({ name }) => name);
    expect(names).toEqual([
      'aops-backup.json',
      'sandboxes/open/workspace',
      'sandboxes/open/workspace/note',
      'secrets.key',
      'token',
      'files/ended/file-ended',
      'files/open/file-open',
      'sandboxes/ended/workspace',
      'sandboxes/ended/workspace/note',
      'aops.db',
      'SHA256SUMS',
    ]);
  });

  it('lets runs continue as soon as their sandboxes have been copied, and asserts at the end that nothing was removed', async () => {
    const { directory } = await twoRuns();
    const progress = newProgress();
    const moments: unknown[] = [];
    const copy = await holdDirectory(directory);
    const bytes = await writeArchive(
      {
        ...copy,
        copyDatabase: async (destination) => {
          moments.push('database');
          await copy.copyDatabase(destination);
        },
        keepFilesAlone: async () => void moments.push({ sandboxes: progress.sandboxes, files: progress.files }),
      },
      progress,
    );
    expect(moments).toEqual(['database', { sandboxes: 1, files: 1 }, { sandboxes: 2, files: 7 }]);
    const contents = (await entriesOf(bytes)).filter(({ name, type }) => type === 'file' && !/^(aops-backup|SHA256)/.test(name));
    expect(progress).toMatchObject({ sandboxes: 2, files: 7, bytes: contents.reduce((sum, { size }) => sum + size, 0), problems: [] });
  });

  it('counts only sandboxes that it contains', async () => {
    const { directory } = await twoRuns();
    await rm(path.join(directory, 'sandboxes', 'ended'), { recursive: true });
    const progress = newProgress();
    const names = (await entriesOf(await writeArchive(await holdDirectory(directory), progress))).map(({ name }) => name);
    expect([progress.sandboxes, names.filter((name) => name.endsWith('/workspace'))]).toEqual([1, ['sandboxes/open/workspace']]);
  });

  it.each([1, 2])('fails if something may have been removed (check %i)', async (failingCheck) => {
    const { directory } = await twoRuns();
    let checks = 0;
    const lossError = new Error('the hold was lost');
    const keepFilesAlone = async () => {
      checks += 1;
      if (checks === failingCheck) throw lossError;
    };
    await expect(writeArchive(await holdDirectory(directory, { keepFilesAlone }))).rejects.toBe(lossError);
    expect(checks).toBe(failingCheck);
  });

  itNeeding(needsPosix, 'leaves no file open', async () => {
    const { directory } = await twoRuns();
    for (let count = 0; count < 100; count++) await sandboxFile(directory, 'ended', `file-${count}`, 'x');
    const held = await holdDirectory(directory);
    const before = countOpenFiles();
    await writeArchive(held);
    expect(countOpenFiles() - before).toBeLessThan(50);
  });

  it('fails with the reason if it is aborted', async () => {
    const { directory } = await twoRuns();
    const controller = new AbortController();
    const keepFilesAlone = async () => controller.abort(new Error('Ctrl-C'));
    await expect(writeArchive(await holdDirectory(directory, { keepFilesAlone }), newProgress(), controller.signal)).rejects.toThrow(
      'Ctrl-C',
    );
  });

  it('contains the checksums of all files, and a description with the time of the state', async () => {
    const { directory } = await twoRuns();
    const entries = await entriesOf(await writeArchive(await holdDirectory(directory)));
    const files = entries.filter(({ type, name }) => type === 'file' && name !== 'SHA256SUMS');
    expect(entries.at(-1)?.text.toString()).toBe(
      files.map(({ name, text }) => `${createHash('sha256').update(text).digest('hex')}  ${name}\n`).join(''),
    );
    expect(JSON.parse(entries[0]?.text.toString() ?? '')).toMatchObject({ created_at: '2026-07-18T09:00:00.000Z', runs: 2, open_runs: 1 });
    expect(entries[0]?.modifiedAt).toBe(Date.parse('2026-07-18T09:00:00.000Z') / 1_000);
  });

  it('keeps the times of files, folders, and links, and lets only the owner access them', async () => {
    const { directory, rows } = await storedData();
    rows.run('r');
    const timeAt = (seconds: number) => new Date(seconds * 1_000);
    const workspace = path.join(directory, 'sandboxes/r/workspace');
    for (const [name, mode] of [
      ['run.sh', 0o755],
      ['other.sh', 0o644],
    ] as const) {
      await sandboxFile(directory, 'r', name, '');
      await chmod(path.join(workspace, name), mode);
      await utimes(path.join(workspace, name), timeAt(1_000), timeAt(1_000));
    }
    await symlink('run.sh', path.join(workspace, 'link'));
    await lutimes(path.join(workspace, 'link'), timeAt(2_000), timeAt(2_000));
    await utimes(workspace, timeAt(3_000), timeAt(3_000));
    const entries = await entriesOf(await writeArchive(await holdDirectory(directory)));
    const inSandbox = entries.filter(({ name }) => name.startsWith('sandboxes')).map(({ text, ...entry }) => entry);
    expect(inSandbox.sort((a, b) => a.name.localeCompare(b.name))).toEqual([
      { name: 'sandboxes/r/workspace', type: 'folder', size: 0, mode: 0o700, modifiedAt: 3_000 },
      { name: 'sandboxes/r/workspace/link', type: 'link', size: 0, mode: 0o777, modifiedAt: 2_000, target: 'run.sh' },
      { name: 'sandboxes/r/workspace/other.sh', type: 'file', size: 0, mode: 0o600, modifiedAt: 1_000 },
      { name: 'sandboxes/r/workspace/run.sh', type: 'file', size: 0, mode: 0o700, modifiedAt: 1_000 },
    ]);
  });

  it('contains the folders of a sandbox that runs write, and no uploads in progress', async () => {
    const { directory, rows } = await storedData();
    rows.run('r');
    for (const folder of ['workspace', 'tmp', 'browser', 'uploads']) {
      await mkdir(path.join(directory, 'sandboxes/r', folder), { recursive: true });
      await writeFile(path.join(directory, 'sandboxes/r', folder, 'file'), folder);
    }
    const names = (await entriesOf(await writeArchive(await holdDirectory(directory)))).map(({ name }) => name);
    expect(names.filter((name) => name.endsWith('/file'))).toEqual(
      ['workspace', 'tmp', 'browser'].map((folder) => `sandboxes/r/${folder}/file`),
    );
  });

  it('contains files of the service however many holes they have', async () => {
    const { directory, rows } = await storedData();
    rows.runFile('sparse', 'r', sha256(''));
    await mkdir(path.join(directory, 'files/r'), { recursive: true });
    const file = path.join(directory, 'files/r/sparse');
    await writeFile(file, '');
    await truncate(file, 100_000_000_000);
    const progress = newProgress();
    const work = await mkdtemp(path.join(await temporaryDirectory(), 'work-'));
    // Reading all of it would take minutes.
    for await (const _ of backupBytes(await holdDirectory(directory), path.join(work, 'aops.db'), progress, inertSignal))
      if (progress.bytes > 1_000_000) break;
    expect(progress.problems.filter(({ path: name }) => name === 'files/r/sparse')).toEqual([]);
    expect(progress.bytes).toBeGreaterThan(1_000_000);
  });
});

describe('while a backup is written, a file of a run', () => {
  /** A backup of a sandbox with `first` and `second`; `change` is called when the first is being read. */
  async function changing(change: (workspace: string) => void) {
    const { directory, rows } = await storedData();
    rows.run('r');
    const workspace = path.join(directory, 'sandboxes/r/workspace');
    await sandboxFile(directory, 'r', 'a', 'x'.repeat(600_000));
    await sandboxFile(directory, 'r', 'b', 'second');
    const progress = newProgress();
    let hasChanged = false;
    let bytes = 0;
    Object.defineProperty(progress, 'bytes', {
      get: () => bytes,
      set: (value: number) => {
        bytes = value;
        if (hasChanged) return;
        hasChanged = true;
        change(workspace);
      },
    });
    const entries = await entriesOf(await writeArchive(await holdDirectory(directory), progress));
    const entryOf = (name: string) => entries.find((entry) => entry.name === `sandboxes/r/workspace/${name}`);
    const problems = progress.problems
      .filter(({ path: name }) => name.startsWith('sandboxes'))
      .map(({ path: name, problem }) => `${path.basename(name)}: ${problem}`);
    return { a: entryOf('a'), b: entryOf('b'), problems };
  }

  it('can become longer: what it contained before is copied', async () => {
    const { a, problems } = await changing((workspace) => appendFileSync(path.join(workspace, 'a'), 'more'));
    expect([a?.size, a?.text.equals(Buffer.from('x'.repeat(600_000))), problems]).toEqual([600_000, true, []]);
  });

  it('can become shorter: it ends with zeros, which is reported once', async () => {
    const { a, problems } = await changing((workspace) => truncateSync(path.join(workspace, 'a'), 300_000));
    expect(a?.text.equals(Buffer.concat([Buffer.from('x'.repeat(300_000)), Buffer.alloc(300_000)]))).toBe(true);
    expect(problems).toEqual(['a: it became shorter while it was being read, so its end consists of zeros']);
  });

  it('can vanish', async () => {
    const { b, problems } = await changing((workspace) => rmSync(path.join(workspace, 'b')));
    expect([b, problems]).toEqual([undefined, ['b: it no longer exists on the disk']]);
  });

  it('can become a link, which is not followed', async () => {
    const { b, problems } = await changing((workspace) => {
      rmSync(path.join(workspace, 'b'));
      symlinkSync('/etc/passwd', path.join(workspace, 'b'));
    });
    expect([b, problems]).toEqual([undefined, ['b: it became a link, so it is left out']]);
  });
});

it('the backup of a directory in which nothing has happened contains only the database', async () => {
  const { directory } = await storedData();
  const progress = newProgress();
  const names = (await entriesOf(await writeArchive(await holdDirectory(directory), progress))).map(({ name }) => name);
  expect(names).toEqual(['aops-backup.json', 'aops.db', 'SHA256SUMS']);
  expect(progress.problems.map(({ path: name }) => name)).toEqual(['secrets.key', 'token']);
  expect((await stat(directory)).isDirectory()).toBe(true);
});
