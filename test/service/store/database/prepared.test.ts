import { DummyDriver, Kysely, NoResultError, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, type Updateable } from 'kysely';
import Libsql from 'libsql';
import { expect, it, vi } from 'vitest';
import { columnsOf, namesOf, preparedQuery } from '../../../../src/service/store/database/prepared.ts';
import type { Database } from '../../../../src/service/store/database/schema.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';

async function openStore() {
  const db = await openDatabase(await temporaryDirectory());
  afterTest(() => db.destroy());
  return db;
}

it('a prepared query is built once, and executed with new values each time', async () => {
  const db = await openStore();
  let built = 0;
  const insert = preparedQuery((db, { name, value }: { name: string; value: string }) => {
    built += 1;
    return db.insertInto('settings').values({ name, value });
  });
  expect(await insert.change(db, { name: 'a', value: '1' })).toBe(1);
  expect(await db.transaction().execute((trx) => insert.change(trx, { name: 'b', value: '2' }))).toBe(1);
  expect(built).toBe(1);
  const rows = await db.selectFrom('settings').selectAll().where('name', 'in', ['a', 'b']).execute();
  expect(rows).toEqual([
    { name: 'a', value: '1' },
    { name: 'b', value: '2' },
  ]);
});

it('SQLite prepares only the form of a query that is executed', async () => {
  const db = await openStore();
  const prepare = vi.spyOn(Libsql.prototype, 'prepare');
  afterTest(() => prepare.mockRestore());
  const find = preparedQuery((db, { name }: { name: string }) => db.selectFrom('settings').select('value').where('name', '=', name));
  const forms = () => prepare.mock.calls.filter(([text]) => text.includes('select "value" from "settings"')).map(([text]) => text);
  await find.first(db, { name: 'a' });
  await find.first(db, { name: 'b' });
  // The query itself, which has the columns, and the one that packs each row.
  expect(forms()).toHaveLength(2);
  await find.all(db, { name: 'a' });
  await find.all(db, { name: 'b' });
  expect(forms()).toHaveLength(3);
  expect(new Set(forms()).size).toBe(3);
});

it('a prepared query is part of its transaction, and rejected after its end', async () => {
  const db = await openStore();
  const insert = preparedQuery((db, { name }: { name: string }) => db.insertInto('settings').values({ name, value: '' }));
  const names = preparedQuery((db, _: object) => db.selectFrom('settings').select('name').where('name', '=', 'inside'));
  let late = async (): Promise<number> => 0;
  const refusal = db.transaction().execute(async (trx) => {
    await insert.change(trx, { name: 'inside' });
    expect(await names.all(trx, {})).toEqual([{ name: 'inside' }]);
    late = () => insert.change(trx, { name: 'late' });
    throw new Error('refused');
  });
  await expect(refusal).rejects.toThrow('refused');
  await expect(late()).rejects.toThrow('This transaction has ended.');
  expect(await names.all(db, {})).toEqual([]);
});

it('a prepared query contains its constant values, and has a plan for each shape', async () => {
  const db = await openStore();
  const shapes: string[] = [];
  const find = preparedQuery(
    (db, parameters: { name?: string | undefined; value?: string | undefined }, values) => {
      shapes.push(namesOf(values).join());
      let query = db.selectFrom('settings').select(['name', 'value']).where('name', '!=', 'url_signing_key');
      if (values.name !== undefined) query = query.where('name', '=', parameters.name as string);
      if (values.value !== undefined) query = query.where('value', '=', parameters.value as string);
      return query;
    },
    (values) => namesOf(values).join(),
  );
  for (const name of ['a', 'b'])
    await db
      .insertInto('settings')
      .values({ name, value: `of ${name}` })
      .execute();
  expect(await find.all(db, {})).toHaveLength(2);
  expect(await find.only(db, { name: 'b' })).toEqual({ name: 'b', value: 'of b' });
  expect(await find.first(db, { name: 'a', value: undefined })).toEqual({ name: 'a', value: 'of a' });
  expect(await find.first(db, { name: 'a', value: 'of b' })).toBeUndefined();
  await expect(find.only(db, { value: 'none' })).rejects.toThrow(NoResultError);
  expect(shapes).toEqual(['', 'name', 'name,value', 'value']);
});

it('columns without a value are not changed', async () => {
  const db = await openStore();
  const change = preparedQuery(
    (db, parameters: { of: string; name?: string; value?: string | undefined }, { of: _, ...columns }) =>
      db.updateTable('settings').set(columnsOf<Updateable<Database['settings']>>(parameters, columns)).where('name', '=', parameters.of),
    (values) => namesOf(values).join(),
  );
  await db.insertInto('settings').values({ name: 'a', value: 'kept' }).execute();
  await change.change(db, { of: 'a', name: 'a', value: undefined });
  expect(await db.selectFrom('settings').selectAll().where('name', '=', 'a').execute()).toEqual([{ name: 'a', value: 'kept' }]);
  await change.change(db, { of: 'a', value: 'new' });
  expect(await db.selectFrom('settings').selectAll().where('name', '=', 'a').execute()).toEqual([{ name: 'a', value: 'new' }]);
});

it('a prepared query is compiled for each kind of database', async () => {
  const db = await openStore();
  const statements: string[] = [];
  const postgres = new Kysely<Database>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (any: Kysely<never>) => new PostgresIntrospector(any),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
    log: ({ query }) => void statements.push(query.sql),
  });
  const find = preparedQuery((queries, { name }: { name: string }) =>
    queries.selectFrom('settings').select('value').where('name', '=', name),
  );
  for (let attempt = 0; attempt < 2; attempt++) {
    expect(await find.all(db, { name: 'none' })).toEqual([]);
    await find.all(postgres, { name: 'none' });
  }
  expect(new Set(statements)).toEqual(new Set(['select "value" from "settings" where "name" = $1']));
});
