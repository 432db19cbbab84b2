/** Cached rows are never older, or newer, than what the database contains. */
import { expect, it } from 'vitest';
import { cachedQuery } from '../../../../src/service/store/database/cached.ts';
import type { Queries } from '../../../../src/service/store/database/database.ts';
import { preparedQuery } from '../../../../src/service/store/database/prepared.ts';
import { openCounted } from './sqlite/counted-database.ts';

/** A database, and what a cached query returns in a transaction, with the number of times that it was executed. */
async function setUp() {
  const database = await openCounted();
  let count = 0;
  const prepared = preparedQuery((db, _: object) => db.selectFrom('settings').select('name').orderBy('name'));
  const query = cachedQuery(['settings'], {
    ...prepared,
    all: (db, values) => {
      count += 1;
      return prepared.all(db, values);
    },
  });
  const names = async (db: Queries) => (await query(db, {})).map(({ name }) => name);
  return { ...database, names, inTransaction: () => database.db.transaction().execute(names), executions: () => count };
}

it('rows are read once, until a table changes', async () => {
  const { db, insert, inTransaction, executions } = await setUp();
  await insert('a').execute();
  expect([await inTransaction(), await inTransaction(), executions()]).toEqual([['a'], ['a'], 1]);
  await insert('b').execute();
  expect([await inTransaction(), executions()]).toEqual([['a', 'b'], 2]);
  await db.deleteFrom('settings').where('name', '=', 'a').execute();
  expect([await inTransaction(), executions()]).toEqual([['b'], 3]);
});

it('a transaction sees its own changes, and nobody does after it was rolled back', async () => {
  const { db, names, inTransaction } = await setUp();
  expect(await inTransaction()).toEqual([]);
  const seen: string[][] = [];
  const failure = db.transaction().execute(async (trx) => {
    await trx.insertInto('settings').values({ name: 'gone', value: '' }).execute();
    seen.push(await names(trx));
    throw new Error('taken back');
  });
  await expect(failure).rejects.toThrow('taken back');
  expect([seen, await inTransaction()]).toEqual([[['gone']], []]);
});

it('a part of a unit of work that was rolled back leaves nothing in the cache', async () => {
  const { db, names } = await setUp();
  const after = await db.atomically(async ({ store }) => {
    const part = store.transaction().execute(async (trx) => {
      await trx.insertInto('settings').values({ name: 'gone', value: '' }).execute();
      await names(trx);
      throw new Error('taken back');
    });
    await expect(part).rejects.toThrow('taken back');
    return store.transaction().execute(names);
  });
  expect(after).toEqual([]);
});

it('changes that could not be committed are forgotten', async () => {
  const { db, commits, names, inTransaction } = await setUp();
  commits.failure = new Error('no space left');
  const write = db.transaction().execute(async (trx) => {
    await trx.insertInto('settings').values({ name: 'lost', value: '' }).execute();
    return names(trx);
  });
  await expect(write).rejects.toBe(commits.failure);
  commits.failure = undefined;
  expect(await inTransaction()).toEqual([]);
});

it('queries outside of transactions do not use the cache, because what it contains might not be durable', async () => {
  const { db, names, executions } = await setUp();
  await names(db);
  await names(db);
  expect(executions()).toBe(2);
});

it('the cache does not grow without end', async () => {
  const { db } = await openCounted();
  let count = 0;
  const byName = preparedQuery((queries, { name }: { name: string }) =>
    queries.selectFrom('settings').select('name').where('name', '=', name),
  );
  const query = cachedQuery(['settings'], {
    ...byName,
    all: (queries, values) => {
      count += 1;
      return byName.all(queries, values);
    },
  });
  await db.transaction().execute(async (trx) => {
    for (let index = 0; index <= 1_000; index++) await query(trx, { name: String(index) });
    await query(trx, { name: '1000' });
    expect(count).toBe(1_001);
    await query(trx, { name: '0' });
    expect(count).toBe(1_002);
  });
});
