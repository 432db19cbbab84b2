/** Reading a database in a separate thread. */
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import Libsql from 'libsql';
import { expect, it } from 'vitest';
import { Contents } from '../../../src/service/backup/contents.ts';
import { openDatabase } from '../../../src/service/store/database/sqlite/open.ts';
import { openForReading } from '../../../src/service/store/database/sqlite/reader/open.ts';
import { afterTest, temporaryDirectory } from '../../support/temporary.ts';

/** A database file of a service with one team, opened for reading. */
async function openReader() {
  const directory = await temporaryDirectory();
  const db = await openDatabase(directory);
  await db.insertInto('teams').values({ id: 't', name: 'Ä team', created_at: '2026' }).execute();
  await db.destroy();
  const file = join(directory, 'aops.db');
  const reader = openForReading(file);
  afterTest(() => reader.destroy());
  return { file, reader };
}

/** Counts to a million, which takes SQLite some time. */
const slowQuery = sql<{ count: number }>`with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000000)
  select count(*) as count from n`;

it('a long query does not block this thread', async () => {
  const { reader } = await openReader();
  let isAnswered = false;
  const counting = slowQuery.execute(reader).finally(() => {
    isAnswered = true;
  });
  let turns = 0;
  while (!isAnswered) {
    await setImmediate();
    turns += 1;
  }
  expect((await counting).rows).toEqual([{ count: 1_000_000 }]);
  expect(turns).toBeGreaterThan(100);
});

it('reads rows as the database itself does, and changes nothing', async () => {
  const { reader } = await openReader();
  const team = reader.selectFrom('teams').select(['id', 'name', 'deleted_at']);
  expect(await team.execute()).toEqual([{ id: 't', name: 'Ä team', deleted_at: null }]);
  expect(await team.where('id', '=', 'none').execute()).toEqual([]);
  const { count } = await reader
    .selectFrom('teams')
    .select(({ fn }) => fn.countAll().as('count'))
    .executeTakeFirstOrThrow();
  expect(count).toBe(1);
  await expect(sql`delete from teams returning id`.execute(reader)).rejects.toThrow(/readonly/);
  await expect(sql`select nonsense`.execute(reader)).rejects.toThrow('nonsense');
  await expect(reader.transaction().execute(async () => undefined)).rejects.toThrow('no transaction');
});

it('a damaged text fails the query that reads it', async () => {
  const { file, reader } = await openReader();
  const database = new Libsql(file);
  database.exec("update teams set name = cast(x'ff' as text)");
  database.close();
  await expect(reader.selectFrom('teams').selectAll().execute()).rejects.toMatchObject({ code: 'data_damaged' });
  expect(await reader.selectFrom('teams').select('id').execute()).toEqual([{ id: 't' }]);
});

it('the copy of a database for a backup is checked in the thread, however long that takes', async () => {
  const { file } = await openReader();
  let hasTurned = false;
  const turn = setImmediate().then(() => {
    hasTurned = true;
  });
  const contents = await Contents.open(file);
  expect(hasTurned).toBe(true);
  await turn;
  expect(await contents.info('2026')).toMatchObject({ runs: 0, agents: 0 });
  await contents.close();
});
