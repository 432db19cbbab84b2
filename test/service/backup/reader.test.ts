/** What is read from a backup, and how it is written to the disk. */
import { mkdir, readdir, readlink, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { TarType } from '../../../src/base/tar/tar-entry.ts';
import { newReadProgress, readBackup, restoreBackup } from '../../../src/service/backup/index.ts';
import { Places } from '../../../src/service/backup/places.ts';
import { refuseUnfinished } from '../../../src/service/backup/unfinished.ts';
import { countOpenFiles } from '../../support/open-files.ts';
import { itNeeding, needsPosix } from '../../support/requirements.ts';
import { tarHeader, tarPadding } from '../../support/tar-bytes.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { archive, database, entryBytes, first, gzip, info, type Part, source, sumsOf } from './archives.ts';

const inertSignal = new AbortController().signal;
const damagedError = (message: RegExp) => expect.objectContaining({ code: 'backup_damaged', message: expect.stringMatching(message) });
const readArchive = (bytes: Uint8Array, folder?: string, signal = inertSignal) =>
  readBackup(source(bytes), folder, newReadProgress(), signal);

/** A file with permissions and a time. */
function fileBytes(name: string, content: string, { mode, modified }: { mode: number; modified: number }): Buffer {
  const body = Buffer.from(content);
  return Buffer.concat([tarHeader({ name, type: 'file', size: body.length, mode, modifiedAt: modified }), body, tarPadding(body.length)]);
}

describe('the names in a backup', () => {
  const takeEntries = (...entries: [string, TarType][]) => {
    const places = new Places();
    for (const [name, type] of entries) places.take(name, type);
  };
  const workspacePath = (name: string) => `sandboxes/a/workspace/${name}`;

  it('can be 3,584 bytes long, and no longer', () => {
    const ofBytes = (bytes: number) => workspacePath('ü'.repeat(200).padEnd(bytes - workspacePath('').length - 200, 'x'));
    expect(Buffer.byteLength(ofBytes(3_584))).toBe(3_584);
    expect(() => takeEntries([ofBytes(3_584), 'file'])).not.toThrow();
    // Only the beginning is quoted.
    expect(() => takeEntries([ofBytes(3_585), 'file'])).toThrow(`the name ${JSON.stringify(ofBytes(3_585).slice(0, 200))} is too long`);
  });

  it('of folders can appear before and after their contents, and twice', () => {
    takeEntries(
      [workspacePath('d'), 'folder'],
      [workspacePath('d/x'), 'file'],
      [workspacePath('d'), 'folder'],
      [workspacePath('e/y'), 'link'],
      [workspacePath('e'), 'folder'],
    );
  });

  it.each([
    ['file', 'file', '"sandboxes/a/workspace/x" appears twice'],
    ['file', 'link', 'two entries in it are named "sandboxes/a/workspace/x"'],
    ['file', 'folder', 'two entries in it are named "sandboxes/a/workspace/x"'],
    ['link', 'file', 'two entries in it are named "sandboxes/a/workspace/x"'],
    ['link', 'link', 'two entries in it are named "sandboxes/a/workspace/x"'],
    ['link', 'folder', 'two entries in it are named "sandboxes/a/workspace/x"'],
    ['folder', 'file', 'two entries in it are named "sandboxes/a/workspace/x"'],
    ['folder', 'link', 'two entries in it are named "sandboxes/a/workspace/x"'],
  ] as const)('cannot be those of a %s and of a %s at the same time', (firstType, otherType, message) => {
    expect(() => takeEntries([workspacePath('x'), firstType], [workspacePath('x'), otherType])).toThrow(message);
  });

  it.each(['file', 'link'] as const)('cannot pass through a %s', (type) => {
    expect(() => takeEntries([workspacePath('x'), type], [workspacePath('x/y/z'), 'file'])).toThrow(
      `"sandboxes/a/workspace/x/y/z" passes through the ${type} "sandboxes/a/workspace/x"`,
    );
  });
});

describe('reading a backup', () => {
  const parts: Part[] = [
    first,
    { name: 'sandboxes/a/workspace', type: 'folder' },
    { name: 'sandboxes/a/workspace/workspace', type: 'folder' },
    { name: 'sandboxes/a/tmp', type: 'folder' },
    { name: 'sandboxes/a/workspace/large', content: Buffer.alloc(1_100_000) },
    { name: 'sandboxes/a/workspace/link', type: 'link', target: 'large' },
    { name: 'sandboxes/b/workspace', type: 'folder' },
    database,
  ];

  it.each(['verified', 'restored'])('counts what has been %s', async (way) => {
    const progress = newReadProgress();
    const folder = way === 'restored' ? await temporaryDirectory() : undefined;
    expect(await readBackup(source(archive(parts)), folder, progress, inertSignal)).toEqual(info);
    expect(progress).toEqual({ info, sandboxes: 2, files: 2, bytes: 1_100_000 + Buffer.byteLength(database.content as string) });
    if (folder === undefined) return;
    expect((await stat(path.join(folder, 'sandboxes/a/workspace/large'))).size).toBe(1_100_000);
    expect(await readlink(path.join(folder, 'sandboxes/a/workspace/link'))).toBe('large');
    expect((await stat(path.join(folder, 'sandboxes/b/workspace'))).mode & 0o777).toBe(0o700);
  });

  it('keeps times, and lets only the owner read and execute files', async () => {
    const folder = await temporaryDirectory();
    const pathOf = (name: string) => `sandboxes/a/workspace/${name}`;
    const bytes = gzip([
      entryBytes(first),
      fileBytes(pathOf('run.sh'), 'x', { mode: 0o755, modified: 1_000 }),
      fileBytes(pathOf('text'), 'x', { mode: 0o666, modified: 2_000 }),
      // Executable for others alone.
      fileBytes(pathOf('other'), 'x', { mode: 0o011, modified: 3_000 }),
      entryBytes(database),
      entryBytes({
        name: 'SHA256SUMS',
        content: sumsOf([first, ...['run.sh', 'text', 'other'].map((name) => ({ name: pathOf(name), content: 'x' })), database]),
      }),
    ]);
    await readArchive(bytes, folder);
    const facts = async (name: string) => {
      const { mode, mtimeMs } = await stat(path.join(folder, pathOf(name)));
      return [mode & 0o777, mtimeMs / 1_000];
    };
    expect([await facts('run.sh'), await facts('text'), await facts('other')]).toEqual([
      [0o700, 1_000],
      [0o600, 2_000],
      [0o600, 3_000],
    ]);
  });

  itNeeding(needsPosix, 'leaves no file open', async () => {
    const manyParts: Part[] = Array.from({ length: 100 }, (_, index) => ({ name: `sandboxes/a/workspace/${index}`, content: 'x' }));
    const directory = path.join(await temporaryDirectory(), 'data');
    const before = countOpenFiles();
    await restoreBackup(source(archive([first, ...manyParts, database])), directory, newReadProgress(), inertSignal);
    expect(countOpenFiles() - before).toBeLessThan(50);
  });

  it('rejects a description that is too long', async () => {
    const infoPart = (bytes: number): Part => ({ name: first.name, content: JSON.stringify(info).padEnd(bytes) });
    await expect(readArchive(archive([infoPart(65_536), database]))).resolves.toEqual(info);
    await expect(readArchive(archive([infoPart(65_537), database]))).rejects.toEqual(damagedError(/not an aops backup/));
  });

  it('rejects a folder with the name of the checksums', async () => {
    await expect(readArchive(archive([first, { name: 'SHA256SUMS', type: 'folder' }, database]))).rejects.toEqual(
      damagedError(/contains no folder named "SHA256SUMS"/),
    );
  });

  it.each([
    [
      'a file whose checksum differs',
      archive([first, database], `${sumsOf([first])}${'0'.repeat(64)}  aops.db\n`),
      /"aops.db" does not match its checksum/,
    ],
    ['no database', archive([first]), /"aops.db" is missing/],
    [
      'a link that leads out',
      archive([first, { name: 'sandboxes/a/tmp/l', type: 'link', target: '/' }, database]),
      /the link "sandboxes\/a\/tmp\/l" leads out/,
    ],
    ['bytes that are not compressed', Buffer.from('hello'), /it is not a backup, or it was changed/],
    ['no bytes', Buffer.alloc(0), /it ends too early/],
    ['an end that is missing', archive([first, database]).subarray(0, -9), /it ends too early/],
  ])('rejects %s', async (_, bytes, message) => {
    await expect(readArchive(bytes)).rejects.toEqual(damagedError(message));
  });

  it('fails for the same reason as its source', async () => {
    const failure = Object.assign(new Error('I/O error'), { code: 'EIO' });
    const failingChunks = async function* () {
      yield archive([first, database]).subarray(0, 40);
      throw failure;
    };
    await expect(readBackup(failingChunks(), undefined, newReadProgress(), inertSignal)).rejects.toBe(failure);
  });

  it('fails with the reason for which it is aborted', async () => {
    const controller = new AbortController();
    const abortingChunks = async function* () {
      yield archive([first, database]).subarray(0, 40);
      controller.abort(new Error('Ctrl-C'));
      yield archive([first, database]).subarray(40);
    };
    await expect(readBackup(abortingChunks(), undefined, newReadProgress(), controller.signal)).rejects.toThrow('Ctrl-C');
  });

  it('explains what the file system does not accept', async () => {
    const folder = await temporaryDirectory();
    const name = `sandboxes/a/workspace/${'x'.repeat(300)}`;
    await expect(readArchive(archive([first, { name, content: 'x' }, database]), folder)).rejects.toThrow(
      `The path ${path.join(folder, name)} is too long for this system.`,
    );
  });

  it('overwrites nothing that exists in the folder', async () => {
    const folder = await temporaryDirectory();
    await writeFile(path.join(folder, 'aops.db'), 'mine');
    await expect(readArchive(archive([first, database]), folder)).rejects.toEqual(damagedError(/two entries in it are named "aops.db"/));
    expect(await readdir(folder)).toEqual(['aops.db']);
  });
});

it.each([
  [['restoring'], true],
  [['restoring', 'token'], true],
  [['restoring', 'aops.db'], false],
  [['aops.db'], false],
  [['token'], false],
  [[], false],
])('a data directory with %j is refused as an unfinished restore: %s', async (names, isRefused) => {
  const directory = await temporaryDirectory();
  for (const name of names) await mkdir(path.join(directory, name));
  if (isRefused) expect(() => refuseUnfinished(directory)).toThrow(expect.objectContaining({ code: 'restore_unfinished' }));
  else refuseUnfinished(directory);
});
