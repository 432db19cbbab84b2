/**
 * The files of a sandbox are found in its record as they are on the disk: random trees with links of all kinds, each recorded, and looked
 * at in both places.
 */
import { mkdir, symlink, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { RecordedFiles } from '../../../../src/service/engine/workspaces/recorded-files.ts';
import { openBytes, putBytes } from '../../../../src/service/engine/workspaces/stored-bytes.ts';
import { uploadFile } from '../../../../src/service/engine/workspaces/upload.ts';
import { ServiceError } from '../../../../src/service/errors.ts';
import type { SandboxFiles } from '../../../../src/service/sandbox/sandbox-files.ts';
import { SandboxStore } from '../../../../src/service/sandbox/sandbox-store.ts';
import { changeRecord } from '../../../../src/service/store/runs/workspace-files.ts';
import { randomFrom } from '../../../support/random.ts';
import { sumOf } from '../../../support/tar.ts';
import { temporaryDirectory } from '../../../support/temporary.ts';
import { each, recordedSandbox } from '../../helpers/recorded-sandbox.ts';

const treesOfSeed = 12;
const names = ['a', 'b', 'c'];
const contents = ['', 'text', 'a longer text', 'bytes \0', 'large '.repeat(30_000)];
const targets = [
  ...['a', 'b', 'c/a', 'a/b/c', './b', 'a//b', 'b/', '..', '../b', '../../c', 'a/..', 'a/../b', 'a/b/../../c', 'b/../a/../c', '.'],
  ...[
    '../workspace/a',
    '../../workspace/b',
    '../../../workspace',
    '../tmp',
    '/etc',
    '/workspace/a',
    'missing',
    'missing/../a',
    'a/missing',
  ],
];
const ranges = [undefined, { start: 0, end: 3 }, { start: 2, end: 2 }, { start: 5, end: 1e9 }, { start: 1e6, end: 1e7 }];

type Random = () => number;
const oneOf = <Item>(random: Random, items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;

const somePath = (random: Random, depth = 3): string =>
  Array.from({ length: 1 + Math.floor(random() * depth) }, () => oneOf(random, names)).join('/');

/** Fills a folder. What cannot be created, such as a file below a file, is left out. */
async function fill(random: Random, folder: string): Promise<void> {
  for (let count = 0; count < 14; count++) {
    const place = path.join(folder, somePath(random));
    const kind = random();
    const make = async (): Promise<void> => {
      await mkdir(path.dirname(place), { recursive: true });
      if (kind < 0.4) await writeFile(place, oneOf(random, contents), { flag: 'wx' });
      else if (kind < 0.5) await mkdir(place);
      else await symlink(oneOf(random, targets), place);
      if (kind < 0.5) await utimes(place, 1_700_000_000, 1_700_000_000 + count);
    };
    await make().catch(() => undefined);
  }
}

/** A sandbox on the disk, and the same one in its record. */
async function bothPlaces(makeFiles: (folder: string) => Promise<void>): Promise<[onDisk: Place, inRecord: Place]> {
  const sandbox = await new SandboxStore(await temporaryDirectory()).create('s');
  await makeFiles(sandbox.directory);
  const { engine } = await recordedSandbox();
  const { store } = engine;
  const { entries } = await sandbox.capture(new Map(), putBytes(engine, 's'));
  await store.transaction().execute((trx) => changeRecord(trx, 's', { version: 1, entries: entries.map(({ entry }) => entry) }));
  return [
    { files: sandbox, upload: (name, bytes) => sandbox.write(name, bytes) },
    {
      files: new RecordedFiles('s', store, openBytes(engine)),
      upload: (path, bytes) => uploadFile(engine, store, 's', { path, content: each([bytes]) }),
    },
  ];
}

interface Place {
  files: SandboxFiles;
  upload: (name: string, bytes: Buffer) => Promise<{ path: string; size: number }>;
}

/** A result as JSON, or the error. Without times, because the record does not follow those of folders. */
async function outcome(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return JSON.parse(JSON.stringify(await work(), (key, value) => (key === 'modifiedAt' ? undefined : (value as unknown))));
  } catch (error) {
    if (error instanceof ServiceError) return [error.status, error.error, error.message];
    throw error;
  }
}

/** Everything that can be asked about a path. @param times whether to include those of files */
async function view({ files }: Place, input: string, times = true): Promise<unknown[]> {
  const walked = async (isHidden?: (displayPath: string) => boolean): Promise<unknown> => {
    const tree = await files.walk(input, isHidden);
    const found = tree.files.map(async (file) => {
      const content = await file.content(100);
      const text = content === undefined ? undefined : sumOf(await buffer(each(content.chunks)));
      await content?.close?.();
      return [file.displayPath, file.size, text, content?.sha256];
    });
    return [tree.displayPath, await Promise.all(found)];
  };
  const read = async (limit: number): Promise<unknown> => {
    const { entry, bytes, truncated } = await files.read(input, limit);
    return [entry, bytes.toString('base64'), truncated];
  };
  const opened = async (range: (typeof ranges)[number]): Promise<unknown> => {
    const { stream, size, modifiedAt } = await files.openRead(input, range);
    return [sumOf(await buffer(stream)), size, times && modifiedAt.getTime()];
  };
  return [
    input,
    await outcome(() => files.list(input)),
    await outcome(() => files.stat(input)),
    await Promise.all([1, 4, 1_000].map((limit) => outcome(() => read(limit)))),
    await Promise.all(ranges.map((range) => outcome(() => opened(range)))),
    await outcome(() => walked()),
    await outcome(() => walked((displayPath) => displayPath.endsWith('/b'))),
  ];
}

it.each([106, 110])('random trees are the same in both places (seed %i)', { timeout: 120_000 }, async (seed) => {
  const random = randomFrom(seed);
  for (let tree = 0; tree < treesOfSeed; tree++) {
    const [onDisk, inRecord] = await bothPlaces((folder) => fill(random, folder));
    const inputs = new Set(['', '.', '/workspace', ...Array.from({ length: 14 }, () => somePath(random, 4))]);
    for (const input of inputs) expect(await view(inRecord, input)).toEqual(await view(onDisk, input));
    for (let count = 0; count < 3; count++) {
      const [name, bytes] = [somePath(random), Buffer.from(`upload ${count}`)];
      expect([name, await outcome(() => inRecord.upload(name, bytes))]).toEqual([name, await outcome(() => onDisk.upload(name, bytes))]);
      for (const input of ['', name]) expect(await view(inRecord, input, false)).toEqual(await view(onDisk, input, false));
    }
  }
});

it('as many links are followed as on the disk', async () => {
  const [onDisk, inRecord] = await bothPlaces(async (folder) => {
    await writeFile(path.join(folder, '0'), 'end');
    for (let link = 1; link <= 45; link++) await symlink(String(link - 1), path.join(folder, String(link)));
    await symlink('loop', path.join(folder, 'loop'));
  });
  for (const input of ['1', '38', '39', '40', '41', '42', '45', 'loop', 'loop/a'])
    expect([input, await outcome(() => inRecord.files.stat(input))]).toEqual([input, await outcome(() => onDisk.files.stat(input))]);
});

it('as many files as on the disk are found, whatever is hidden next to them', async () => {
  const { engine } = await recordedSandbox();
  const files = new RecordedFiles('s', engine.store, openBytes(engine));
  const record = (names: string) =>
    sql`
    with recursive numbers (number) as (select 1 union all select number + 1 from numbers where number < 100000)
    insert into workspace_files (sandbox_id, path, folder, type, mode, modified_at, size, is_text, position, version)
    select 's', ${names} || number, 'workspace', 'file', 420, 0, 0, 0, 0, 1 from numbers`.execute(engine.store);
  await record('workspace/hidden');
  await record('workspace/listed');
  const { files: found } = await files.walk('', (displayPath) => displayPath.startsWith('/workspace/hidden'));
  expect([found.length, found.at(-1)?.displayPath]).toEqual([100_000, '/workspace/listed99999']);
  await expect(files.walk('')).rejects.toMatchObject({ status: 400, error: 'too_many_files' });
});
