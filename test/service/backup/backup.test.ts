/** Backups of data directories: valid ones, and others that must not be restored. */
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, readlink, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip, gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  backupBytes,
  type HeldDirectory,
  holdStopped,
  newProgress,
  newReadProgress,
  readBackup,
  restoreBackup,
} from '../../../src/service/backup/index.ts';
import type { RunHost } from '../../../src/service/runtimes/run-host.ts';
import { migrate, migrations } from '../../../src/service/store/database/sqlite/migrate.ts';
import { openUnchanged } from '../../../src/service/store/database/sqlite/open.ts';
import { png } from '../../support/png.ts';
import { runPromptly } from '../../support/promptly.ts';
import { itNeeding, needsPosix } from '../../support/requirements.ts';
import { tarHeader } from '../../support/tar-bytes.ts';
import { afterTest, temporaryDirectory } from '../../support/temporary.ts';
import { startApi } from '../helpers/service.ts';
import { archive, database, first, info, type Part, source } from './archives.ts';

const inertSignal = new AbortController().signal;
const now = Date.parse('2026-07-18T09:00:00.000Z');

async function writeBytes(heldDirectory: HeldDirectory) {
  const work = await temporaryDirectory();
  const progress = newProgress();
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of backupBytes(heldDirectory, path.join(work, 'aops.db'), progress, inertSignal)) chunks.push(chunk);
  } finally {
    await heldDirectory.release();
  }
  // The copy of the database has been removed.
  expect(await readdir(work)).toEqual([]);
  return { bytes: Buffer.concat(chunks), progress };
}

const backUp = async (directory: string) => writeBytes(await holdStopped(directory, now));

/** Restores into a directory that does not exist; afterwards it is complete, or still does not exist. */
async function restoreBytes(bytes: Uint8Array): Promise<string> {
  const directory = path.join(await temporaryDirectory(), 'data');
  try {
    await restoreBackup(source(bytes), directory, newReadProgress(), inertSignal);
  } catch (error) {
    await expect(stat(directory)).rejects.toMatchObject({ code: 'ENOENT' });
    throw error;
  }
  expect(await readdir(directory)).not.toContain('restoring');
  return directory;
}

/** A data directory with a run that has files of all kinds. */
async function prepareDirectory(): Promise<{ directory: string; sandbox: string; runId: string }> {
  const work = async (host: RunHost) => {
    await host.sandbox.write('deep/note.txt', Buffer.from('note'));
    await host.commit('step', 1, [
      {
        kind: 'screenshot',
        id: 'shot',
        toolName: 'browse',
        startedAt: new Date(host.clock.now()),
        image: { name: 'a.png', mimeType: 'image/png', bytes: png(1, 1, [1, 2, 3]) },
      },
    ]);
    return { status: 'completed' as const };
  };
  const api = await startApi({ behaviours: { work } });
  const { id, sandbox_id: sandbox } = await api.run('work');
  await api.until(id, 'completed');
  await api.service.close();
  return { directory: api.dataDirectory, sandbox: sandbox as string, runId: id };
}

/** Links that each lead to the next one. */
const chain = (length: number): Part[] =>
  Array.from({ length }, (_, index) => ({ name: `sandboxes/a/workspace/l${index}`, type: 'link', target: `l${index + 1}` }));

const failure = (code: string, message: RegExp) => expect.objectContaining({ code, message: expect.stringMatching(message) });

describe('a backup of a stopped service', () => {
  it('contains everything, accessible to its owner only, and a service can continue with it', async () => {
    const { directory, sandbox, runId } = await prepareDirectory();
    const workspace = path.join(directory, 'sandboxes', sandbox, 'workspace');
    await writeFile(path.join(workspace, 'run.sh'), '#!/bin/sh\n');
    await chmod(path.join(workspace, 'run.sh'), 0o755);
    const oddName = `${'long '.repeat(30)}\\ and\nä`;
    await writeFile(path.join(workspace, oddName), 'odd');
    await utimes(path.join(workspace, oddName), 1_700_000_000, 1_700_000_000);
    await symlink('deep/note.txt', path.join(workspace, 'near'));
    await symlink('/etc/passwd', path.join(workspace, 'far'));
    await symlink('../../../token', path.join(workspace, 'up'));
    await mkdir(path.join(directory, 'sandboxes', sandbox, 'staging'), { recursive: true });
    const { bytes, progress } = await backUp(directory);
    expect(progress.info).toMatchObject({ format: 2, created_at: new Date(now).toISOString(), agents: 1, runs: 1, open_runs: 0 });
    expect(progress).toMatchObject({ sandboxes: 1, files: 7 });
    expect(progress.problems.map(({ path: name }) => path.basename(name)).sort()).toEqual(['far', 'up']);

    const readProgress = newReadProgress();
    await readBackup(source(bytes), undefined, readProgress, inertSignal);
    expect(readProgress).toMatchObject({ sandboxes: 1, files: 7, bytes: progress.bytes, info: progress.info });

    const copy = await restoreBytes(bytes);
    const restoredPath = path.join(copy, 'sandboxes', sandbox, 'workspace');
    expect((await readdir(copy)).sort()).toEqual(['aops.db', 'files', 'sandboxes', 'secrets.key', 'token']);
    expect((await readdir(path.join(copy, 'sandboxes', sandbox))).sort()).toEqual(['workspace']);
    expect((await readdir(restoredPath)).sort()).toEqual([oddName, 'deep', 'near', 'run.sh'].sort());
    expect(await readFile(path.join(restoredPath, oddName), 'utf8')).toBe('odd');
    expect((await stat(path.join(restoredPath, oddName))).mtimeMs).toBe(1_700_000_000_000);
    expect(await readlink(path.join(restoredPath, 'near'))).toBe('deep/note.txt');
    const modeOf = async (name: string) => (await stat(path.join(copy, name))).mode & 0o777;
    expect(await modeOf('.')).toBe(0o700);
    for (const name of ['aops.db', 'secrets.key', 'token']) expect(await modeOf(name)).toBe(0o600);
    expect(await modeOf(`sandboxes/${sandbox}/workspace/run.sh`)).toBe(0o700);
    expect(await modeOf(`sandboxes/${sandbox}/workspace/deep`)).toBe(0o700);

    const restartedApi = await startApi({ dataDirectory: copy });
    expect(restartedApi.service.token).toBe(await readFile(path.join(directory, 'token'), 'utf8').then((text) => text.trim()));
    expect((await restartedApi.ok('getRun', { params: { run_id: runId } })).run).toMatchObject({ id: runId, status: 'completed' });
    const files = await readdir(path.join(copy, 'files', runId));
    expect(files).toHaveLength(1);
  });

  it('reports a missing file, and a changed one', async () => {
    const { directory, runId } = await prepareDirectory();
    const [file] = await readdir(path.join(directory, 'files', runId));
    await writeFile(path.join(directory, 'files', runId, file as string), 'changed');
    const changedBackup = await backUp(directory);
    expect(changedBackup.progress.problems).toEqual([{ path: `files/${runId}/${file}`, problem: 'it had been changed on the disk' }]);
    await chmod(path.join(directory, 'token'), 0o600);
    await writeFile(path.join(directory, 'secrets.key'), '');
    const { rm } = await import('node:fs/promises');
    await rm(path.join(directory, 'files', runId), { recursive: true });
    const goneBackup = await backUp(directory);
    expect(goneBackup.progress.problems).toEqual([{ path: `files/${runId}/${file}`, problem: 'it no longer exists on the disk' }]);
    await restoreBytes(goneBackup.bytes);
  });

  it('lets no service start while it is written, but lets one start afterwards', async () => {
    const { directory } = await prepareDirectory();
    const heldDirectory = await holdStopped(directory, now);
    await expect(startApi({ dataDirectory: directory })).rejects.toMatchObject({ code: 'data_directory_in_use' });
    await writeBytes(heldDirectory);
    const api = await startApi({ dataDirectory: directory });
    await expect(holdStopped(directory, now)).rejects.toMatchObject({ code: 'data_directory_in_use' });
    await api.service.close();
    await expect(holdStopped(path.join(directory, 'nothing'), now)).rejects.toMatchObject({ code: 'no_data' });
  });

  it('from an older version is migrated when the service starts', async () => {
    const directory = await temporaryDirectory();
    const names = Object.keys(migrations).sort();
    const olderMigrations = Object.fromEntries(Object.entries(migrations).slice(0, 3));
    const store = await openUnchanged(directory);
    await migrate(store, directory, olderMigrations);
    await store.destroy();
    const { bytes, progress } = await backUp(directory);
    expect(progress.info?.schema).toBe(names[2]);
    const copy = await restoreBytes(bytes);
    const api = await startApi({ dataDirectory: copy });
    await api.ok('listRuns');
    expect(await readdir(path.join(copy, 'backups'))).toEqual([`aops-${names[2]}.db`]);
    await api.service.close();
    expect((await backUp(copy)).progress.info?.schema).toBe(names.at(-1));
  });
});

describe('a backup of files that runs have written', () => {
  const inWorkspace = async () => {
    const { directory, sandbox } = await prepareDirectory();
    return { directory, name: `sandboxes/${sandbox}/workspace`, workspace: path.join(directory, 'sandboxes', sandbox, 'workspace') };
  };

  it('leaves out links that lead out of the sandbox through other links, so that the rest can be restored', async () => {
    const { directory, name, workspace } = await inWorkspace();
    await mkdir(path.join(workspace, 'd/e'), { recursive: true });
    await symlink('../../../workspace', path.join(workspace, 'd/e/f'));
    await symlink('d/e/f', path.join(workspace, 'jump'));
    await symlink('d/e/f/../../../token', path.join(workspace, 'm'));
    await symlink('m', path.join(workspace, 'to-m'));
    await symlink('self', path.join(workspace, 'self'));
    const { bytes, progress } = await backUp(directory);
    const problem = 'it is a link that leads out of its sandbox, so it is left out';
    expect(progress.problems).toEqual(['m', 'to-m'].map((link) => ({ path: `${name}/${link}`, problem })));
    const restoredPath = path.join(await restoreBytes(bytes), name);
    expect((await readdir(restoredPath)).sort()).toEqual(['d', 'deep', 'jump', 'self']);
    expect(await readlink(path.join(restoredPath, 'd/e/f'))).toBe('../../../workspace');
  });

  it('leaves out and reports names that are not valid UTF-8', async () => {
    const { directory, name, workspace } = await inWorkspace();
    const oddPath = (bytes: number[]) => Buffer.concat([Buffer.from(`${workspace}/odd`), Buffer.from(bytes)]);
    await writeFile(oddPath([0xff]), 'x');
    await mkdir(oddPath([0xfe]));
    await symlink(Buffer.from([0xfd]), path.join(workspace, 'to-odd'));
    const { bytes, progress } = await backUp(directory);
    expect(progress.problems).toEqual(
      expect.arrayContaining([
        { path: `${name}/odd\ufffd`, problem: 'its name is not valid UTF-8, so it is left out' },
        { path: `${name}/to-odd`, problem: 'it is a link to a name that is not valid UTF-8, so it is left out' },
      ]),
    );
    expect(progress.problems).toHaveLength(3);
    await restoreBytes(bytes);
  });

  it('leaves out a path that is too long', async () => {
    const { directory, workspace } = await inWorkspace();
    const deepPath = path.join(workspace, `${'x'.repeat(250)}/`.repeat(14));
    await mkdir(deepPath, { recursive: true });
    await writeFile(path.join(deepPath, 'y'.repeat(200)), 'x');
    // The longest path, counted from the data directory.
    const longestPath = path.join(deepPath, 'z'.repeat(3_584 - path.relative(directory, deepPath).length - 1));
    await writeFile(longestPath, 'x');
    const { bytes, progress } = await backUp(directory);
    expect(progress.problems).toEqual([{ path: expect.stringMatching(/y$/), problem: 'its path is too long, so it is left out' }]);
    const restored = await restoreBytes(bytes);
    expect(await readFile(path.join(restored, path.relative(directory, longestPath)), 'utf8')).toBe('x');
  });

  itNeeding(needsPosix, 'leaves out a socket', async () => {
    const { directory, name, workspace } = await inWorkspace();
    const server = createServer().listen(path.join(workspace, 'socket'));
    afterTest(() => server.close());
    await once(server, 'listening');
    const { progress } = await backUp(directory);
    expect(progress.problems).toEqual([{ path: `${name}/socket`, problem: 'it is not a file, folder, or link, so it is left out' }]);
  });

  it('contains small files with holes, and leaves out large ones', async () => {
    const { directory, name, workspace } = await inWorkspace();
    for (const [file, size] of [
      ['a-small', 10_000_000],
      ['huge', 100_000_000_000],
      ['small', 10_000_000],
    ] as const) {
      await writeFile(path.join(workspace, file), '');
      await truncate(path.join(workspace, file), size);
    }
    const { bytes, progress } = await runPromptly(() => backUp(directory), 20_000);
    const problem = 'it is 100,000,000,000 bytes long with only 0 bytes on the disk, so it is left out';
    expect(progress.problems).toEqual([{ path: `${name}/huge`, problem }]);
    const restoredPath = path.join(await restoreBytes(bytes), name);
    expect((await readdir(restoredPath)).sort()).toEqual(['a-small', 'deep', 'small']);
    expect((await stat(path.join(restoredPath, 'small'))).size).toBe(10_000_000);
  });
});

describe('a damaged or malicious backup', () => {
  it('cannot contain endless checksums, or files larger than the disk: they are rejected before they are read', async () => {
    let readCount = 0;
    const zeros = async function* (head: Buffer): AsyncGenerator<Uint8Array> {
      const gzip = createGzip({ level: 1 });
      const endlessChunks = async function* () {
        yield head;
        for (;;) {
          yield Buffer.alloc(1_048_576);
          readCount += 1;
        }
      };
      const completion = pipeline(Readable.from(endlessChunks()), gzip).catch(() => undefined);
      try {
        yield* gzip as AsyncIterable<Uint8Array>;
      } finally {
        gzip.destroy();
        await completion;
      }
    };
    const start = gunzipSync(archive([first, database], '')).subarray(0, -3 * 512);
    const declaring = (name: string) =>
      Buffer.concat([start, tarHeader({ name, type: 'file', size: 2 ** 50, mode: 0o600, modifiedAt: 0 })]);
    const verified = readBackup(zeros(declaring('SHA256SUMS')), undefined, newReadProgress(), inertSignal);
    await expect(verified).rejects.toEqual(failure('backup_damaged', /more checksums than files/));
    const directory = path.join(await temporaryDirectory(), 'deep', 'data');
    const restoring = restoreBackup(zeros(declaring('sandboxes/a/workspace/x')), directory, newReadProgress(), inertSignal);
    await expect(restoring).rejects.toMatchObject({ code: 'disk_full' });
    expect(readCount).toBeLessThan(200);
    await expect(stat(path.dirname(directory))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('is rejected, and leaves nothing behind', async () => {
    await expect(restoreBytes(archive([first, database]))).resolves.toBeDefined();
    const cases: [string, Buffer, ReturnType<typeof failure>][] = [
      ['no archive', Buffer.from('hello'), failure('backup_damaged', /not a backup/)],
      ['nothing', Buffer.alloc(0), failure('backup_damaged', /too early/)],
      ['another archive', archive([{ name: 'readme', content: 'x' }]), failure('backup_damaged', /not an aops backup/)],
      ['cut off', archive([first, database]).subarray(0, -20), failure('backup_damaged', /too early/)],
      [
        'without its end',
        gzipSync(gunzipSync(archive([first, database])).subarray(0, -3 * 512)),
        failure('backup_damaged', /too early|cannot be read/),
      ],
      [
        'a changed file',
        archive([first, database], `${'0'.repeat(64)}  aops.db\n`),
        failure('backup_damaged', /does not match its checksum/),
      ],
      ['a missing file', archive([first, database], `${'0'.repeat(64)}  token\n`), failure('backup_damaged', /"token" is missing/)],
      ['no database', archive([first]), failure('backup_damaged', /"aops.db" is missing/)],
      ['the same file twice', archive([first, database, database]), failure('backup_damaged', /appears twice/)],
      ['up', archive([first, database, { name: '../evil' }]), failure('backup_damaged', /a backup contains no (file|folder|link) named/)],
      [
        'up from a sandbox',
        archive([first, database, { name: 'sandboxes/a/workspace/../../../evil' }]),
        failure('backup_damaged', /a backup contains no (file|folder|link) named/),
      ],
      [
        'absolute',
        archive([first, database, { name: '/etc/evil' }]),
        failure('backup_damaged', /a backup contains no (file|folder|link) named/),
      ],
      [
        'another file',
        archive([first, database, { name: 'service.json' }]),
        failure('backup_damaged', /a backup contains no (file|folder|link) named/),
      ],
      [
        'a folder for a file',
        archive([first, { name: 'aops.db', type: 'folder' }]),
        failure('backup_damaged', /a backup contains no (file|folder|link) named/),
      ],
      [
        'a link out',
        archive([first, database, { name: 'sandboxes/a/workspace/l', type: 'link', target: '../../../token' }]),
        failure('backup_damaged', /leads out/),
      ],
      [
        'an absolute link',
        archive([first, database, { name: 'sandboxes/a/workspace/l', type: 'link', target: '/etc' }]),
        failure('backup_damaged', /leads out/),
      ],
      [
        'a link out through another link',
        archive([
          first,
          database,
          { name: 'sandboxes/a/workspace/d/e', type: 'folder' },
          { name: 'sandboxes/a/workspace/d/e/f', type: 'link', target: '../../../workspace' },
          { name: 'sandboxes/a/workspace/m', type: 'link', target: 'd/e/f/../../../token' },
        ]),
        failure('backup_damaged', /"sandboxes\/a\/workspace\/m" leads out/),
      ],
      [
        'a link above its sandbox and back',
        archive([first, database, { name: 'sandboxes/a/workspace/l', type: 'link', target: '../../a/workspace/x' }]),
        failure('backup_damaged', /leads out/),
      ],
      [
        'a link with a longer chain than is followed',
        archive([first, database, ...chain(50)]),
        failure('backup_damaged', /too many other links/),
      ],
      [
        'a file in the place of a folder',
        archive([first, database, { name: 'sandboxes/a/workspace/l/m' }, { name: 'sandboxes/a/workspace/l' }]),
        failure('backup_damaged', /two entries/),
      ],
      [
        'a file in a file',
        archive([first, database, { name: 'sandboxes/a/workspace/l' }, { name: 'sandboxes/a/workspace/l/m' }]),
        failure('backup_damaged', /passes through the file/),
      ],
      [
        'a name that is too long',
        archive([first, database, { name: `sandboxes/a/workspace/${'long/'.repeat(1_000)}x` }]),
        failure('backup_damaged', /too long/),
      ],
      [
        'more checksums than files',
        archive([first, database], `${'0'.repeat(64)}  aops.db\n`.repeat(3)),
        failure('backup_damaged', /more checksums than files/),
      ],
      [
        'a link for a key',
        archive([first, database, { name: 'token', type: 'link', target: 'aops.db' }]),
        failure('backup_damaged', /a backup contains no (file|folder|link) named/),
      ],
      [
        'a hard link',
        archive([first, database, { name: 'sandboxes/a/workspace/l', type: 'hardlink', target: 'token' }]),
        failure('backup_damaged', /of type "link"/),
      ],
      [
        'a newer schema',
        archive([{ name: first.name, content: JSON.stringify({ ...info, schema: '9999-future' }) }, database]),
        failure('backup_newer', /9\.9\.9.*9999-future/),
      ],
      [
        'a newer format',
        archive([{ name: first.name, content: JSON.stringify({ ...info, format: 3 }) }, database]),
        failure('backup_newer', /format 3/),
      ],
    ];
    for (const [label, bytes, expected] of cases) {
      await expect(restoreBytes(bytes), label).rejects.toEqual(expected);
      await expect(readBackup(source(bytes), undefined, newReadProgress(), inertSignal), label).rejects.toEqual(expected);
    }
  });

  it('cannot contain names that pass through its own links', async () => {
    const sneakyArchive = archive([
      first,
      database,
      { name: 'sandboxes/a/workspace/l', type: 'link', target: 'real' },
      { name: 'sandboxes/a/workspace/l/file', content: 'x' },
    ]);
    await expect(restoreBytes(sneakyArchive)).rejects.toEqual(failure('backup_damaged', /passes through the link/));
  });
});

describe('the directory that a backup is restored into', () => {
  it('must be empty, and keeps its files', async () => {
    const directory = await temporaryDirectory();
    await writeFile(path.join(directory, 'mine'), 'mine');
    const restoring = restoreBackup(source(archive([first, database])), directory, newReadProgress(), inertSignal);
    await expect(restoring).rejects.toMatchObject({ code: 'data_directory_not_empty', exit: 6 });
    expect(await readdir(directory)).toEqual(['mine']);
  });

  it('may exist if it is empty, and then still exists after a failure', async () => {
    const directory = await temporaryDirectory();
    const restore = (bytes: Buffer) => restoreBackup(source(bytes), directory, newReadProgress(), inertSignal);
    await expect(restore(archive([first]))).rejects.toMatchObject({ code: 'backup_damaged' });
    expect(await readdir(directory)).toEqual([]);
    await restore(archive([first, database]));
    expect(await readdir(directory)).toEqual(['aops.db']);
    await expect(restore(archive([first, database]))).rejects.toMatchObject({ code: 'data_directory_not_empty' });
  });

  it('cannot be used by a service in the meantime', async () => {
    const directory = await temporaryDirectory();
    const validArchive = archive([first, database]);
    let refusal: unknown;
    const slowChunks = async function* (): AsyncGenerator<Uint8Array> {
      yield validArchive.subarray(0, 50);
      refusal = await startApi({ dataDirectory: directory }).catch((error: unknown) => error);
      yield validArchive.subarray(50);
    };
    await restoreBackup(slowChunks(), directory, newReadProgress(), inertSignal);
    expect(refusal).toMatchObject({ code: 'restore_unfinished', exit: 6 });
  });
});
