/** Exports and imports that were killed continue with the same command, and nothing is served before they are complete. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { appendFile, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { beforeAll, expect, it } from 'vitest';
import { exportData, importData, MoveProgress, type Place } from '../../../src/service/exports/index.ts';
import type { FileStoreSetting } from '../../../src/service/files/setting.ts';
import { openDirectoryTarget, openStorage } from '../../../src/service/store/data-directory.ts';
import { exportedTables } from '../../../src/service/store/database/portable/tables.ts';
import { openSharedSource, openSharedStorage } from '../../../src/service/store/shared-storage.ts';
import { needsPostgres, newDatabase, newEmptyDatabase } from '../../support/postgres.ts';
import { randomFrom } from '../../support/random.ts';
import { describeNeeding } from '../../support/requirements.ts';
import { bucket, credentials, S3Server } from '../../support/s3-server.ts';
import { temporaryDirectory, temporaryFolder } from '../../support/temporary.ts';
import { ManualClock } from '../helpers/clock.ts';
import { openNode } from '../helpers/postgres.ts';
import { type PopulatedData, populatedData } from './populated-data.ts';

const { signal } = new AbortController();
let data: PopulatedData;
let key: { text: string; source: string };
/** A complete export of the data. */
let whole: string;
beforeAll(async () => {
  data = await populatedData();
  const source = path.join(data.directory, 'secrets.key');
  key = { text: await readFile(source, 'utf8'), source };
  whole = path.join(await temporaryFolder(), 'export');
  await exportFrom({ directory: data.directory }, whole);
});

const exportFrom = (place: Place, folder: string, progress = new MoveProgress(), checkpointBytes = 20_000) =>
  exportData(place, { folder, key, progress, signal, skipMissing: false, checkpointBytes });

const importTo = (place: Place, progress = new MoveProgress()) =>
  importData(place, { folder: whole, key, checked: new MoveProgress(), progress, signal });

/** Ends the work when it reports progress for the nth time. */
const endingAfter = (count: number): MoveProgress => {
  let remaining = count;
  return new MoveProgress(() => {
    remaining -= 1;
    if (remaining === 0) throw new Error('killed');
  });
};

/** How often an attempt reports progress before it can do anything new: once for each table that is complete. */
const shortest = exportedTables.length;

/** Tries until it is complete. Resolves to the number of attempts. */
async function untilComplete(seed: number, attempt: (progress: MoveProgress) => Promise<unknown>, afterKill: () => Promise<void>) {
  const random = randomFrom(seed);
  for (let attempts = 1; attempts < 60; attempts++) {
    const isComplete = await attempt(endingAfter(shortest + Math.floor(random() * 60))).then(
      () => true,
      (error: Error) => {
        if (error.message !== 'killed') throw error;
        return false;
      },
    );
    if (isComplete) return attempts;
    await afterKill();
  }
  throw new Error('it is never complete');
}

/** The checksums of all files by name. */
async function sumsOf(folder: string): Promise<Record<string, string>> {
  const entries = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const files = entries.map(({ parentPath, name }) => path.join(parentPath, name)).sort();
  const sums = files.map(
    async (file) =>
      [
        path.relative(folder, file),
        createHash('sha256')
          .update(await readFile(file))
          .digest('hex'),
      ] as const,
  );
  return Object.fromEntries(await Promise.all(sums));
}

const fresh = async (name: string): Promise<string> => path.join(await temporaryDirectory(), name);

/** The file that the export would write next, as far as a process that was killed may have written it. */
async function leaveBeginnings(folder: string): Promise<void> {
  const listed = await readFile(path.join(folder, 'files.ndjson'), 'utf8').catch(() => undefined);
  if (listed === undefined) return;
  await appendFile(path.join(folder, 'files.ndjson'), '{"path":"files/cut o');
  const { files = { bytes: 0 } } = JSON.parse(await readFile(path.join(folder, 'progress.json'), 'utf8')) as { files?: { bytes: number } };
  for (const name of Object.keys(await sumsOf(folder)))
    if (/^(files|sandboxes)\//.test(name) && !listed.slice(0, files.bytes).includes(name))
      await writeFile(path.join(folder, name), 'cut o');
}

it.each([1, 2])('an export continues (seed %i)', async (seed) => {
  const folder = await fresh('export');
  const attempts = await untilComplete(
    seed,
    (progress) => exportFrom({ directory: data.directory }, folder, progress),
    () => leaveBeginnings(folder),
  );
  expect(attempts).toBeGreaterThan(1);
  expect(await sumsOf(folder)).toEqual(await sumsOf(whole));
});

it('an export does not copy complete files again', async () => {
  const folder = await fresh('export');
  const archive = path.join(folder, `sandboxes/${data.sandbox}.tar`);
  const progress = new MoveProgress(() => {
    if (existsSync(archive) && progress.sandboxes > 0 && progress.bytes > 9_000_000) throw new Error('killed');
  });
  await expect(exportFrom({ directory: data.directory }, folder, progress, 1)).rejects.toThrow('killed');
  const { ino, mtimeMs } = await stat(archive);
  await expect(exportFrom({ directory: data.directory }, folder, endingAfter(1_000_000), 1)).resolves.toBeDefined();
  expect(await stat(archive)).toMatchObject({ ino, mtimeMs });
  expect(await sumsOf(folder)).toEqual(await sumsOf(whole));
});

it('an import into a data directory continues, and no service starts before its end', async () => {
  const directory = await fresh('data');
  const attempts = await untilComplete(
    4,
    (progress) => importTo({ directory }, progress),
    async () => {
      const options = { clock: new ManualClock(), bounds: undefined, onDamage: () => undefined };
      await expect(openStorage(directory, options)).rejects.toMatchObject({ code: 'import_unfinished', exit: 6 });
      await expect(exportFrom({ directory }, await fresh('export'))).rejects.toMatchObject({ code: 'import_unfinished' });
      // The beginning of a file that was being stored.
      await mkdir(path.join(directory, 'files', data.pictureRun), { recursive: true });
      if (!existsSync(path.join(directory, 'files', data.pictureRun, data.fileId)))
        await writeFile(path.join(directory, 'files', data.pictureRun, `${data.fileId}.partial`), 'cut o');
    },
  );
  expect(attempts).toBeGreaterThan(1);
  const folder = await fresh('export');
  await exportFrom({ directory }, folder);
  expect(await sumsOf(folder)).toEqual(await sumsOf(whole));
  expect((await stat(path.join(directory, 'secrets.key'))).mode & 0o777).toBe(0o600);
});

const settings = {
  database: async () => undefined,
  folder: async (): Promise<FileStoreSetting> => ({ kind: 'folder', path: await fresh('files') }),
  bucket: async (): Promise<FileStoreSetting> => {
    const { endpoint } = await S3Server.start();
    return { kind: 's3', bucket, prefix: 'aops/', endpoint, region: 'eu-central-1', credentials };
  },
};

describeNeeding(needsPostgres, 'with Postgres', () => {
  it.each(['database', 'folder', 'bucket'] as const)(
    'an import continues, with files in the %s, and no node starts before its end',
    async (kind) => {
      const url = await newEmptyDatabase();
      const place: Place = { url, files: await settings[kind]() };
      const attempts = await untilComplete(
        6,
        (progress) => importTo(place, progress),
        async () => {
          await expect(openNode(url)).rejects.toMatchObject({ code: 'database_import_unfinished' });
        },
      );
      expect(attempts).toBeGreaterThan(1);
      const folder = await fresh('export');
      await exportFrom(place, folder);
      expect(await sumsOf(folder)).toEqual(await sumsOf(whole));
      if (kind === 'folder') await expectRefusals(url);
    },
  );

  /** Of exports with another file store than that of the nodes, and with another key. */
  async function expectRefusals(url: string): Promise<void> {
    const folder = await fresh('export');
    await expect(exportFrom({ url, files: undefined }, folder)).rejects.toMatchObject({
      code: 'export_file_missing',
      hint: expect.stringContaining('--file-store'),
    });
    const otherKey = { text: Buffer.alloc(32, 7).toString('base64'), source: 'other.key' };
    const options = { folder, key: otherKey, progress: new MoveProgress(), signal, skipMissing: false };
    await expect(exportData({ url, files: undefined }, options)).rejects.toMatchObject({ code: 'secret_key_mismatch' });
  }

  it.each([
    ['missing', (file: string) => rm(file)],
    ['damaged', async (file: string) => writeFile(file, Buffer.alloc((await stat(file)).size, '?'))],
    ['shortened', async (file: string) => truncate(file, (await stat(file)).size - 1)],
  ])('an export reports files of sandboxes whose content is %s, and can leave them out', async (_, damage) => {
    const store = await fresh('files');
    const place: Place = { url: await newEmptyDatabase(), files: { kind: 'folder', path: store } };
    await importTo(place);
    const found = await readdir(path.join(store, 'sandboxes'), { recursive: true, withFileTypes: true });
    for (const entry of found) if (entry.isFile()) await damage(path.join(entry.parentPath, entry.name));
    const folder = await fresh('export');
    const damagedFile = expect.stringMatching(/sandboxes\/.*\/workspace\/secret\.txt is (?:not|damaged) in the file store/);
    await expect(exportFrom(place, folder)).rejects.toMatchObject({ code: 'export_file_missing', message: damagedFile });
    const { problems } = await exportData(place, { folder, key, progress: new MoveProgress(), signal, skipMissing: true });
    expect(new Set(problems.map(({ problem }) => problem))).toEqual(
      new Set(['it is damaged or missing in the file store, so it is left out']),
    );
    expect(problems.map((problem) => path.basename(problem.path))).toEqual(
      expect.arrayContaining(['secret.txt', 'huge.bin', 'session.json', 'run.sh']),
    );
    expect(new Set(problems.map((problem) => problem.path)).size).toBe(problems.length);
    const target: Place = { directory: await fresh('data') };
    await importData(target, { folder, key, checked: new MoveProgress(), progress: new MoveProgress(), signal });
    const sandboxes = await readdir(path.join(target.directory, 'sandboxes'), { recursive: true, withFileTypes: true });
    expect(sandboxes.filter((entry) => entry.isFile() && problems.some((problem) => problem.path.endsWith(`/${entry.name}`)))).toEqual([]);
  });

  it('no node starts while a database is exported, and only one process exports it', async () => {
    const url = await newDatabase();
    const source = await openSharedSource(url, 'export');
    const node = { url, instanceId: 'node', bounds: undefined };
    await expect(openSharedStorage(node)).rejects.toMatchObject({ code: 'export_running', exit: 6 });
    await expect(openSharedSource(url, 'other')).rejects.toMatchObject({ code: 'export_running' });
    await source.close();
    await (await openSharedStorage(node)).store.destroy();
  });

  it('imports the data of an older version, and brings it up to this one', async () => {
    const directory = await temporaryDirectory();
    const target = await openDirectoryTarget(directory);
    await target.begin('', '0030-reminders');
    await sql`insert into teams (id, name, created_at, last_removed_run) values ('t', 'team', '2026-01-01T00:00:00.000Z', 0)`.execute(
      target.store,
    );
    await sql`insert into sandboxes (id, team_id, created_at) values ('s', 't', '2026-01-01T00:00:00.000Z')`.execute(target.store);
    await target.finish(async () => undefined);
    await target.close();
    await mkdir(path.join(directory, 'sandboxes/s/workspace'), { recursive: true });
    await writeFile(path.join(directory, 'sandboxes/s/workspace/old.txt'), 'old');
    const folder = await fresh('export');
    const { manifest } = await exportFrom({ directory }, folder);
    expect(manifest).toMatchObject({ schema: '0030-reminders', secret_key: null });
    const url = await newEmptyDatabase();
    await importData(
      { url, files: undefined },
      { folder, key: undefined, checked: new MoveProgress(), progress: new MoveProgress(), signal },
    );
    const store = await openNode(url);
    const rows = await store.selectFrom('workspace_files').select(['path', 'size', 'version']).orderBy('path').execute();
    expect(rows).toEqual([
      { path: 'workspace', size: 0, version: 1 },
      { path: 'workspace/old.txt', size: 3, version: 1 },
    ]);
  });
});
