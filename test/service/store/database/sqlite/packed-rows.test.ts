import { join } from 'node:path';
import fc from 'fast-check';
import { Kysely, sql } from 'kysely';
import Libsql from 'libsql';
import { expect, it } from 'vitest';
import { LibsqlDialect } from '../../../../../src/service/store/database/sqlite/dialect.ts';
import { afterTest, temporaryDirectory } from '../../../../support/temporary.ts';

interface Tables {
  mixed: { id: number; a: string | null; b: number | null; c: string | null };
}

async function openStore() {
  const file = new Libsql(join(await temporaryDirectory(), 'test.db'));
  file.exec('create table mixed (id integer primary key, a text, b bigint, c text)');
  const db = new Kysely<Tables>({ dialect: new LibsqlDialect(file) });
  afterTest(() => db.destroy());
  return { db, file };
}

// No lone surrogates: they are not valid text, and are replaced when they are stored.
const text = fc.string({ unit: 'grapheme', maxLength: 12 }).map((value) => value.replaceAll('\0', ''));

it('rows are read as they were stored', async () => {
  const { db } = await openStore();
  const row = fc.record({ a: fc.option(text), b: fc.option(fc.maxSafeInteger()), c: fc.option(text) });
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 6 }), async (rows) => {
      await db.deleteFrom('mixed').execute();
      const storedRows = rows.map((row, index) => ({ id: index + 1, ...row }));
      for (const row of storedRows) expect(await db.insertInto('mixed').values(row).returningAll().executeTakeFirst()).toEqual(row);
      expect(await db.selectFrom('mixed').selectAll().orderBy('id').execute()).toEqual(storedRows);
      const reversedQuery = db.selectFrom('mixed').select(['c', 'b', 'id', 'a']).orderBy('id', 'desc');
      expect(await reversedQuery.execute()).toEqual(storedRows.toReversed());
      expect(await reversedQuery.limit(1).offset(1).execute()).toEqual(storedRows.toReversed().slice(1, 2));
    }),
    { numRuns: 60, seed: 7 },
  );
});

it('expressions keep their types, and of columns with the same name the last one counts', async () => {
  const { db } = await openStore();
  await db.insertInto('mixed').values({ id: 1, a: '', b: 2, c: 'tea' }).execute();
  const foundRows = await db
    .selectFrom('mixed as one')
    .innerJoin('mixed as two', 'two.id', 'one.id')
    .select([
      ...['one.a', 'two.c'].map((column) => sql.ref(column).as('same')),
      sql<number>`0.1 + 0.2`.as('fraction'),
      sql<string>`'12'`.as('digits'),
      sql<null>`null`.as('nothing'),
      sql<string>`one.a || ''`.as('empty'),
    ])
    .select((select) => [select.fn.countAll().as('count'), select.fn.max('two.b').as('most')])
    .execute();
  expect(foundRows).toEqual([{ same: 'tea', fraction: 0.1 + 0.2, digits: '12', nothing: null, empty: '', count: 1, most: 2 }]);
  const wideQuery = db
    .selectFrom('mixed')
    .select(Array.from({ length: 130 }, (_, index) => sql<number>`${sql.lit(index)}`.as(`n${index}`)));
  expect(Object.values((await wideQuery.executeTakeFirstOrThrow()) as object)).toEqual(Array.from({ length: 130 }, (_, index) => index));
});

it.each([29, 30, 31, 60, 61, 99])('nulls are read in each of %i columns', async (width) => {
  const { db } = await openStore();
  await db.insertInto('mixed').values({ id: 1, a: 'tea', b: null, c: null }).execute();
  // Every seventh column has a value; the others are null.
  const columns = Array.from({ length: width }, (_, index) => sql.ref(index % 7 === 0 ? 'a' : 'c').as(`n${index}`));
  const row = await db.selectFrom('mixed').select(columns).executeTakeFirstOrThrow();
  expect(Object.values(row)).toEqual(columns.map((_, index) => (index % 7 === 0 ? 'tea' : null)));
});

it('a change returns columns under other names, and expressions', async () => {
  const { db } = await openStore();
  const row = { id: 1, a: 'x, y', b: 2, c: null };
  const returnedRows = await db
    .insertInto('mixed')
    .values(row)
    .returning([
      'id as number',
      'mixed.a as text',
      'c',
      sql<string>`coalesce(c, 'none, "there"')`.as('either'),
      sql<number>`b * 1.5`.as('more'),
    ])
    .execute();
  expect(returnedRows).toEqual([{ number: 1, text: 'x, y', c: null, either: 'none, "there"', more: 3 }]);
  expect(await db.deleteFrom('mixed').where('id', '=', 2).returning('id').execute()).toEqual([]);
});

it.each([
  ['invalid', "cast(x'41ff42' as text)", '"c" of a row of mixed (id 2) is not valid text'],
  ['cut off', "cast(x'41e282' as text)", '"c" of a row of mixed (id 2) is not valid text'],
  ['interrupted by a NUL character', "cast(x'410042' as text)", 'a text in mixed contains a NUL character'],
])('a text that is %s fails only the query that reads it', async (_, value, message) => {
  const { db, file } = await openStore();
  for (const id of [1, 2, 3]) await db.insertInto('mixed').values({ id, a: 'a', b: 1, c: 'c' }).execute();
  file.exec(`update mixed set c = ${value} where id = 2`);
  const query = db.selectFrom('mixed').selectAll();
  await expect(query.execute()).rejects.toMatchObject({ code: 'data_damaged', message: expect.stringContaining(message) });
  await expect(db.updateTable('mixed').set({ a: 'b' }).where('id', '=', 2).returningAll().execute()).rejects.toMatchObject({
    code: 'data_damaged',
  });
  expect(await query.where('id', '!=', 2).execute()).toHaveLength(2);
  expect(await db.selectFrom('mixed').select(['id', 'a']).execute()).toHaveLength(3);
});

it('a damaged text is reported without the keys of its row that are damaged themselves', async () => {
  const { db, file } = await openStore();
  await db.insertInto('mixed').values({ id: 7, a: 'a', b: 1, c: 'c' }).execute();
  file.exec("update mixed set a = cast(x'41ff42' as text)");
  await expect(db.selectFrom('mixed').select(['id', 'a as run_id']).execute()).rejects.toMatchObject({
    message: expect.stringContaining('"run_id" of a row of mixed (id 7) is not valid text'),
  });
});

it('a damaged text names the tables of a query that also contains expressions', async () => {
  const { db, file } = await openStore();
  await db.insertInto('mixed').values({ id: 1, a: 'a', b: 1, c: 'c' }).execute();
  file.exec("update mixed set c = cast(x'410042' as text)");
  const query = db.selectFrom('mixed').select([sql<number>`1 + 1`.as('two'), 'c']);
  await expect(query.execute()).rejects.toMatchObject({ message: expect.stringContaining('a text in mixed contains a NUL character') });
});

it('a change cannot return an expression with a parameter', async () => {
  const { db } = await openStore();
  await db.insertInto('mixed').values({ id: 1, a: 'a', b: 1, c: 'c' }).execute();
  const change = db.updateTable('mixed').set({ b: 2 }).returning(sql<string>`a || ${'x'}`.as('joined'));
  await expect(change.execute()).rejects.toThrow('What this change returns cannot be packed: a || ? as "joined"');
});

it('a value of another type in a column of numbers fails the query that reads it', async () => {
  const { db, file } = await openStore();
  await db.insertInto('mixed').values({ id: 1, a: 'a', b: 1, c: 'c' }).execute();
  file.exec("update mixed set b = cast(x'ff' as text)");
  await expect(db.selectFrom('mixed').select('b').execute()).rejects.toMatchObject({ code: 'data_damaged' });
  file.exec("update mixed set b = 'word'");
  await expect(db.selectFrom('mixed').select('b').execute()).rejects.toMatchObject({ code: 'data_damaged' });
});
