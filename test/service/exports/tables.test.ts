/** The rows of an export: they are the same from either kind of database, whenever an export or import was interrupted. */
import { appendFile, cp, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { checkExport } from '../../../src/service/exports/check.ts';
import { exportDatabase } from '../../../src/service/exports/export.ts';
import { folderSandboxes } from '../../../src/service/exports/folder-sandboxes.ts';
import type { Manifest } from '../../../src/service/exports/format.ts';
import { importDatabase } from '../../../src/service/exports/import.ts';
import type { FileTargets } from '../../../src/service/exports/import-files.ts';
import { MoveProgress } from '../../../src/service/exports/progress.ts';
import { DamagedContentError, placeOf, type SandboxSource } from '../../../src/service/exports/sandbox-contents.ts';
import { FileStore } from '../../../src/service/files/file-store.ts';
import { FolderFiles } from '../../../src/service/files/folder-files.ts';
import { openDirectorySource, openDirectoryTarget, openStorage } from '../../../src/service/store/data-directory.ts';
import { migrations } from '../../../src/service/store/database/migrations/index.ts';
import type { ExportSource, ImportTarget } from '../../../src/service/store/database/portable/portable-database.ts';
import { exportedTables, omittedTables } from '../../../src/service/store/database/portable/tables.ts';
import { openSharedSource, openSharedTarget } from '../../../src/service/store/shared-storage.ts';
import { needsPostgres, newEmptyDatabase } from '../../support/postgres.ts';
import { randomFrom } from '../../support/random.ts';
import { describeNeeding } from '../../support/requirements.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { ManualClock } from '../helpers/clock.ts';
import { openNode } from '../helpers/postgres.ts';
import { randomData } from './random-data.ts';

const { signal } = new AbortController();

/** Ends the work when it reports progress for the nth time. */
const endingAfter = (count: number): MoveProgress => {
  let remaining = count;
  return new MoveProgress(() => {
    remaining -= 1;
    if (remaining === 0) throw new Error('killed');
  });
};

/** The files of the rows do not exist. */
const noFiles = { files: new FileStore(new FolderFiles('/nonexistent')) };

interface Options {
  progress?: MoveProgress;
  checkpointBytes?: number;
  contentsOf?: SandboxSource;
}

async function exportFrom(
  open: Promise<ExportSource>,
  folder: string,
  { progress = new MoveProgress(), contentsOf = folderSandboxes('/nonexistent'), ...rest }: Options = {},
) {
  const source = await open;
  try {
    const { files } = noFiles;
    const options = { source, files, sandboxes: () => contentsOf, secretKey: null, skipMissing: true };
    return (await exportDatabase({ ...options, folder, progress, signal, ...rest })).manifest;
  } finally {
    await source.close();
  }
}

async function importTo(open: Promise<ImportTarget>, folder: string, progress = new MoveProgress()): Promise<void> {
  const target = await open;
  try {
    const source = await checkExport(folder, { progress: new MoveProgress(), signal });
    const sandbox: FileTargets['sandbox'] = ({ record }) => record(target.store);
    await importDatabase({ ...noFiles, target, sandbox, source, progress, signal, atEnd: async () => undefined });
  } finally {
    await target.close();
  }
}

/** All files of an export by name. */
async function contentOf(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const files = names.map(({ parentPath, name }) => path.join(parentPath, name));
  return Object.fromEntries(await Promise.all(files.map(async (file) => [path.relative(folder, file), await readFile(file, 'utf8')])));
}

const newFolder = async (): Promise<string> => path.join(await temporaryDirectory(), 'export');

it('contains every table, apart from those that each database has for itself', async () => {
  const source = await openDirectorySource(await randomData(1, 0));
  const { rows } = await sql<{
    name: string;
  }>`select name from sqlite_master where type = 'table' and name not like 'run_search_%'`.execute(source.store);
  await source.close();
  const known = [...exportedTables, ...Object.keys(omittedTables)];
  expect(
    rows.map(({ name }) => name).filter((name) => !known.includes(name)),
    'list new tables in store/database/portable/tables.ts',
  ).toEqual([]);
});

it('contains a row of every table, and the checksums of all', async () => {
  const folder = await newFolder();
  const manifest = await exportFrom(openDirectorySource(await randomData(2)), folder);
  expect(manifest.tables.map(({ name }) => name)).toEqual(exportedTables);
  for (const { name, rows } of manifest.tables) expect(rows, name).toBeGreaterThan(0);
  await expect(checkExport(folder, { progress: new MoveProgress(), signal })).resolves.toMatchObject({ manifest });
});

it('reads a sandbox a few times, however many of its files are damaged', async () => {
  let sandboxCount = 0;
  let openedCount = 0;
  const names = Array.from({ length: 40 }, (_, index) => `workspace/${index}`);
  const contentsOf: SandboxSource = async ({ id }) => {
    sandboxCount += 1;
    return {
      entries: names.map((name) => ({ name, type: 'file', size: 1, mode: 0o600, modifiedAt: 0 })),
      problems: [],
      async open({ name }) {
        openedCount += 1;
        if (Number(path.basename(name)) % 2 === 0) throw new DamagedContentError(placeOf(id, name), 'is damaged');
        return [Buffer.from('x')];
      },
    };
  };
  await exportFrom(openDirectorySource(await randomData(1)), await newFolder(), { contentsOf });
  expect(sandboxCount).toBeGreaterThan(0);
  // It is begun, read to find the damage, and written without the damaged files.
  const attempts = sandboxCount / 2;
  expect(openedCount).toBe(attempts * (1 + (names.length - 1) + names.length / 2));
});

it('ends if a sandbox cannot be read, also while damage is looked for', async () => {
  const contentsOf: SandboxSource = async ({ id }) => ({
    entries: ['workspace/a', 'workspace/b'].map((name) => ({ name, type: 'file', size: 1, mode: 0o600, modifiedAt: 0 })),
    problems: [],
    open: async ({ name }) => {
      if (name === 'workspace/b') throw new Error('the bucket does not answer');
      throw new DamagedContentError(placeOf(id, name), 'is damaged');
    },
  });
  const failedExport = exportFrom(openDirectorySource(await randomData(1)), await newFolder(), { contentsOf });
  await expect(failedExport).rejects.toThrow('the bucket does not answer');
});

it('continues where it was interrupted, and is the same as one that was not', async () => {
  const directory = await randomData(3);
  const whole = await newFolder();
  await exportFrom(openDirectorySource(directory), whole);
  const random = randomFrom(3);
  const folder = await newFolder();
  let attempts = 0;
  for (let isComplete = false; !isComplete && attempts < 30; attempts++) {
    const options = { progress: endingAfter(30 + Math.floor(random() * 100)), checkpointBytes: 5_000 };
    isComplete = await exportFrom(openDirectorySource(directory), folder, options).then(
      () => true,
      () => false,
    );
    // What a process that was killed had written after its last checkpoint.
    if (!isComplete) for (const name of await readdir(path.join(folder, 'tables'))) await spoilEnd(folder, name);
  }
  expect(attempts).toBeGreaterThan(2);
  expect(await contentOf(folder)).toEqual(await contentOf(whole));
});

/** Appends to a table that is not complete yet. */
async function spoilEnd(folder: string, name: string): Promise<void> {
  const { tables } = JSON.parse(await readFile(path.join(folder, 'progress.json'), 'utf8')) as Pick<Manifest, 'tables'>;
  if (!tables.some((entry) => `${entry.name}.ndjson` === name)) await appendFile(path.join(folder, 'tables', name), '{"id":"cut o');
}

it('begins anew when a service has used the data in between', async () => {
  const directory = await randomData(4);
  const folder = await newFolder();
  await expect(exportFrom(openDirectorySource(directory), folder, { progress: endingAfter(60) })).rejects.toThrow('killed');
  const storage = await openStorage(directory, { clock: new ManualClock(), bounds: undefined, onDamage: () => undefined });
  await storage.store.updateTable('teams').set({ name: 'renamed' }).execute();
  await storage.store.destroy();
  await exportFrom(openDirectorySource(directory), folder);
  const teams = await readFile(path.join(folder, 'tables/teams.ndjson'), 'utf8');
  expect(teams.split('\n').filter((line) => line !== '' && !line.includes('"name":"renamed"'))).toEqual([]);
});

it('is refused in a folder with other files, and in one with a complete export', async () => {
  const directory = await randomData(5, 1);
  const folder = await newFolder();
  await exportFrom(openDirectorySource(directory), folder);
  await expect(exportFrom(openDirectorySource(directory), folder)).rejects.toMatchObject({ code: 'export_exists' });
  const other = await temporaryDirectory();
  await appendFile(path.join(other, 'notes.txt'), 'mine');
  await expect(exportFrom(openDirectorySource(directory), other)).rejects.toMatchObject({ code: 'folder_not_empty' });
  expect(await contentOf(other)).toEqual({ 'notes.txt': 'mine' });
});

it('is refused when a file is missing, damaged, or has another size', async () => {
  const folder = await newFolder();
  await exportFrom(openDirectorySource(await randomData(6, 3)), folder);
  const check = (copy: string) => checkExport(copy, { progress: new MoveProgress(), signal });
  for (const damage of [
    async (file: string) => appendFile(file, '\n'),
    async (file: string) => (await import('node:fs/promises')).rm(file),
    async (file: string) => {
      const bytes = await readFile(file);
      bytes[10] = (bytes[10] as number) ^ 1;
      await (await import('node:fs/promises')).writeFile(file, bytes);
    },
  ]) {
    const copy = await newFolder();
    await cp(folder, copy, { recursive: true });
    await damage(path.join(copy, 'tables/runs.ndjson'));
    await expect(check(copy)).rejects.toMatchObject({ code: 'export_damaged', message: expect.stringContaining('tables/runs.ndjson') });
  }
  await expect(check(await temporaryDirectory())).rejects.toMatchObject({ code: 'export_missing', exit: 2 });
});

it('that is not complete is refused', async () => {
  const folder = await newFolder();
  await expect(exportFrom(openDirectorySource(await randomData(7, 3)), folder, { progress: endingAfter(9) })).rejects.toThrow('killed');
  await expect(checkExport(folder, { progress: new MoveProgress(), signal })).rejects.toMatchObject({ code: 'export_incomplete' });
});

describeNeeding(needsPostgres, 'with Postgres', () => {
  it('is the same after the rows were moved to Postgres and back', async () => {
    const [first, second, third] = [await newFolder(), await newFolder(), await newFolder()];
    await exportFrom(openDirectorySource(await randomData(8, 60)), first);
    const url = await newEmptyDatabase();
    await importTo(openSharedTarget(url, 'import'), first);
    await exportFrom(openSharedSource(url, 'export'), second);
    const expected = await contentOf(first);
    expect(await contentOf(second)).toEqual(expected);
    const directory = await temporaryDirectory();
    await importTo(openDirectoryTarget(directory), second);
    await exportFrom(openDirectorySource(directory), third);
    expect(await contentOf(third)).toEqual(expected);
  });

  it.each(['sqlite', 'postgres'] as const)('an import into %s continues where it was interrupted', async (kind) => {
    const [folder, again] = [await newFolder(), await newFolder()];
    await exportFrom(openDirectorySource(await randomData(9)), folder);
    const place = kind === 'postgres' ? await newEmptyDatabase() : await temporaryDirectory();
    const open = () => (kind === 'postgres' ? openSharedTarget(place, 'import') : openDirectoryTarget(place));
    const random = randomFrom(9);
    let attempts = 1;
    for (; attempts < 30; attempts++) {
      const progress = endingAfter(25 + Math.floor(random() * 60));
      const isComplete = await importTo(open(), folder, progress).then(
        () => true,
        () => false,
      );
      if (isComplete) break;
    }
    expect(attempts).toBeGreaterThan(2);
    await exportFrom(kind === 'postgres' ? openSharedSource(place, 'export') : openDirectorySource(place), again);
    expect(await contentOf(again)).toEqual(await contentOf(folder));
  });

  it('a database with an unfinished import is refused by nodes, exports, and imports of another export', async () => {
    const [folder, other] = [await newFolder(), await newFolder()];
    await exportFrom(openDirectorySource(await randomData(10)), folder);
    await exportFrom(openDirectorySource(await randomData(11)), other);
    const url = await newEmptyDatabase();
    await expect(importTo(openSharedTarget(url, 'import'), folder, endingAfter(30))).rejects.toThrow('killed');
    await expect(openNode(url)).rejects.toMatchObject({ code: 'database_import_unfinished', exit: 6 });
    await expect(openSharedSource(url, 'export')).rejects.toMatchObject({ code: 'database_import_unfinished' });
    await expect(importTo(openSharedTarget(url, 'import'), other)).rejects.toMatchObject({ code: 'import_differs' });
    await importTo(openSharedTarget(url, 'import'), folder);
    await expect(importTo(openSharedTarget(url, 'import'), folder)).rejects.toMatchObject({ code: 'database_not_empty' });
  });

  it('a database that a node uses is refused, and one whose jobs are still held', async () => {
    const url = await newEmptyDatabase();
    const store = await openNode(url, 'node-a');
    await expect(openSharedSource(url, 'export')).rejects.toMatchObject({
      code: 'nodes_running',
      message: expect.stringContaining('node-a'),
    });
    await sql`insert into jobs (id, kind, subject_id, status, due_at)
      values ('j', 'run', 'r', 'running', extract(epoch from clock_timestamp())::bigint * 1000 + 15000)`.execute(store);
    await store.destroy();
    await expect(openSharedSource(url, 'export')).rejects.toMatchObject({
      code: 'nodes_running',
      message: expect.stringContaining('jobs'),
    });
  });

  it('an import continues although a job that it has imported was in progress when the service was killed', async () => {
    const url = await newEmptyDatabase();
    const target = await openSharedTarget(url, 'import-1');
    await target.begin('digest', Object.keys(migrations).sort().at(-1) as string);
    await sql`insert into jobs (id, kind, subject_id, status, due_at) values ('j', 'run', 'r', 'running', 9000000000000)`.execute(
      target.store,
    );
    await target.close();
    await (await openSharedTarget(url, 'import-2')).close();
  });

  it('only one process imports into a database', async () => {
    const url = await newEmptyDatabase();
    const first = await openSharedTarget(url, 'import-1');
    await expect(openSharedTarget(url, 'import-2')).rejects.toMatchObject({ code: 'import_running' });
    await first.close();
    await (await openSharedTarget(url, 'import-3')).close();
  });
});
