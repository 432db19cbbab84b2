/** What a backup contains according to the database, and which directories can be backed up. */
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import Libsql from 'libsql';
import { describe, expect, it } from 'vitest';
import { exitCodes } from '../../../src/base/errors.ts';
import { Contents } from '../../../src/service/backup/contents.ts';
import { holdStopped } from '../../../src/service/backup/index.ts';
import { openUnchanged } from '../../../src/service/store/database/sqlite/open.ts';
import { afterTest, temporaryDirectory } from '../../support/temporary.ts';
import { storedData } from './stored-data.ts';

async function collect<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const items: Value[] = [];
  for await (const value of values) items.push(value);
  return items;
}

async function openContents(directory: string): Promise<Contents> {
  const contents = await Contents.open(path.join(directory, 'aops.db'));
  afterTest(() => contents.close());
  return contents;
}

describe('the database of a backup', () => {
  it.each([0, 1, 999, 1_000, 1_001, 2_000, 2_001])('lists all of %i sandboxes and files of runs', async (count) => {
    const { directory, rows } = await storedData();
    rows.execute(`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
      insert into sandboxes (id, team_id, created_at) select printf('s%05d', i), 't', '' from n where i <= ${count}`);
    rows.execute(`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
      insert into run_files (id, run_id, turn, event_id, name, mime_type, size, sha256, created_at)
        select printf('f%05d', i), 'r', 1, i, 'n', 'text/plain', 1, printf('sum%d', i), '' from n where i <= ${count}`);
    const contents = await openContents(directory);
    const id = (letter: string, index: number) => `${letter}${String(index + 1).padStart(5, '0')}`;
    expect(await collect(contents.sandboxes())).toEqual(Array.from({ length: count }, (_, index) => id('s', index)));
    expect(await collect(contents.runFiles())).toEqual(
      Array.from({ length: count }, (_, index) => ({ id: id('f', index), runId: 'r', sha256: `sum${index + 1}` })),
    );
  });

  it('lists each sandbox of an unfinished run once, and none that was removed', async () => {
    const { directory, rows } = await storedData();
    for (const status of ['completed', 'failed', 'interrupted']) rows.run(`r-${status}`, { status });
    for (const status of ['waiting', 'running', 'pending', 'starting', 'not_started']) rows.run(`r-${status}`, { status });
    rows.run('r-second', { status: 'running', sandbox: 'r-waiting' });
    rows.run('r-removed');
    rows.execute(`update sandboxes set removed_at = '' where id = 'r-removed'`);
    const contents = await openContents(directory);
    expect(await contents.openSandboxes()).toEqual(['r-not_started', 'r-pending', 'r-running', 'r-starting', 'r-waiting']);
    expect(await collect(contents.sandboxes())).toHaveLength(8);
    expect(await collect(contents.sandboxes())).not.toContain('r-removed');
  });

  it('is described by its agents that were not deleted, its runs, and those of them that are unfinished', async () => {
    const { directory, rows } = await storedData();
    for (const [id, deleted] of [
      ['a1', 'null'],
      ['a2', `'2026-07-01'`],
    ] as const)
      rows.execute(
        `insert into agents (id, team_id, name, name_folded, created_at, updated_at, deleted_at) values ('${id}', 't', '${id}', '${id}', '', '', ${deleted})`,
      );
    rows.run('r1');
    rows.run('r2', { status: 'waiting' });
    rows.run('r3', { status: 'running' });
    const info = await (await openContents(directory)).info('2026-07-18T09:00:00.000Z');
    expect(info).toMatchObject({ format: 2, created_at: '2026-07-18T09:00:00.000Z', agents: 1, runs: 3, open_runs: 2 });
  });

  it('is rejected if it is damaged', async () => {
    const { directory, rows } = await storedData();
    rows.execute(`insert into settings (name, value) select 'n' || i, hex(zeroblob(500)) from
      (with recursive n(i) as (select 1 union all select i + 1 from n where i < 200) select i from n)`);
    const file = path.join(directory, 'aops.db');
    const database = new Libsql(file);
    database.pragma('writable_schema=ON');
    database.exec(`update sqlite_master set rootpage = rootpage - 1 where name = 'settings'`);
    database.close();
    await expect(Contents.open(file)).rejects.toMatchObject({
      code: 'backup_damaged',
      message: expect.stringMatching(/^The backup cannot be used: the database is damaged \(.+\)\.$/s),
    });
  });
});

describe('a data directory cannot be backed up if it contains', () => {
  const noData = (directory: string) => ({
    code: 'no_data',
    exit: exitCodes.notFound,
    message: `${directory} does not contain the data of a service.`,
  });

  it('no database', async () => {
    const directory = await temporaryDirectory();
    await expect(holdStopped(directory, 0)).rejects.toMatchObject(noData(directory));
    expect(await readdir(directory)).toEqual([]);
  });

  it('a database without any tables, which is not locked afterwards', async () => {
    const directory = await temporaryDirectory();
    await writeFile(path.join(directory, 'aops.db'), '');
    await expect(holdStopped(directory, 0)).rejects.toMatchObject(noData(directory));
    await (await openUnchanged(directory)).destroy();
  });

  it('the database of another program, which is not locked afterwards', async () => {
    const directory = await temporaryDirectory();
    const database = new Libsql(path.join(directory, 'aops.db'));
    database.exec('create table notes (text)');
    database.close();
    await expect(holdStopped(directory, 0)).rejects.toMatchObject({ code: 'data_directory_foreign' });
    await (await openUnchanged(directory)).destroy();
  });

  it('a folder in the place of the database', async () => {
    const directory = await temporaryDirectory();
    await mkdir(path.join(directory, 'aops.db'));
    await expect(holdStopped(directory, 0)).rejects.toMatchObject({ code: 'data_directory_unusable' });
  });

  it('a file that is not a database', async () => {
    const directory = await temporaryDirectory();
    await writeFile(path.join(directory, 'aops.db'), 'hello '.repeat(1_000));
    await expect(holdStopped(directory, 0)).rejects.toMatchObject({ code: expect.stringMatching(/^data_directory_/) });
  });
});
