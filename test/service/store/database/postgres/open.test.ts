/** Opening a Postgres database: its tables, and the refusals of databases that cannot be used. */
import { type Migration, sql } from 'kysely';
import pg from 'pg';
import { expect, it } from 'vitest';
import { withPostgresTypes } from '../../../../../src/service/store/database/postgres/dialect.ts';
import { migrate, migrations } from '../../../../../src/service/store/database/postgres/migrate.ts';
import { openPostgres } from '../../../../../src/service/store/database/postgres/open.ts';
import { DatabaseProxy } from '../../../../support/database-proxy.ts';
import { needsPostgres, newDatabase, newEmptyDatabase } from '../../../../support/postgres.ts';
import { describeNeeding } from '../../../../support/requirements.ts';
import { openNode } from '../../../helpers/postgres.ts';

it('the types of migrations are translated in declarations of columns only', () => {
  expect(withPostgresTypes('create table t (text text not null, n integer, o bigint, z text primary key)')).toBe(
    'create table t (text text collate "C" not null, n bigint, o bigint, z text collate "C" primary key)',
  );
});

describeNeeding(needsPostgres, 'a Postgres database', () => {
  it('has the types and the order of SQLite, and an index for searches', async () => {
    const store = await openNode(await newDatabase());
    const { rows } = await sql<{ type: string; collation: string | null }>`
      select distinct data_type as type, collation_name as collation from information_schema.columns
      where table_schema = current_schema() and table_name not like 'kysely%' order by 1`.execute(store);
    expect(rows).toEqual([
      { type: 'bigint', collation: null },
      { type: 'text', collation: 'C' },
    ]);
    for (const name of ['b', 'B', 'ä', 'a']) await store.insertInto('settings').values({ name, value: '9007199254740991' }).execute();
    const names = await store.selectFrom('settings').select('name').where('value', '=', '9007199254740991').orderBy('name').execute();
    expect(names.map(({ name }) => name)).toEqual(['B', 'a', 'b', 'ä']);
    const plan = await store.transaction().execute(async (trx) => {
      await sql`set local enable_seqscan = off`.execute(trx);
      return sql<{ 'QUERY PLAN': string }>`explain select id from runs where title_folded like '%bcd%'`.execute(trx);
    });
    expect(JSON.stringify(plan.rows)).toContain('run_search_titles');
  });

  it('returns integers of 64 bits, sums, and conditions as numbers, and stores no NUL characters', async () => {
    const store = await openNode(await newDatabase());
    const { rows } =
      await sql`select 9007199254740991::bigint as a, sum(b) as b, true as c, ${'x\0y'}::text as d from (values (1), (2)) v (b)`.execute(
        store,
      );
    expect(rows).toEqual([{ a: 9_007_199_254_740_991, b: 3, c: 1, d: 'x\ufffdy' }]);
  });

  it('is created by one of several nodes that start at the same moment', async () => {
    const url = await newEmptyDatabase();
    const stores = await Promise.all([openNode(url, 'a'), openNode(url, 'b'), openNode(url, 'c')]);
    for (const store of stores) expect(await store.selectFrom('jobs').selectAll().execute()).toEqual([]);
  });

  it('is not changed by migrations that fail half-way', async () => {
    const url = await newDatabase();
    const store = await openNode(url);
    const broken: Migration = {
      async up(db) {
        await sql`create table half (id text)`.execute(db);
        await sql`create nonsense`.execute(db);
      },
    };
    for (let attempt = 0; attempt < 2; attempt++)
      await expect(migrate(store, { ...migrations, '9999-broken': broken })).rejects.toThrow('nonsense');
    const { rows } = await sql`select 1 from information_schema.tables where table_name = 'half'`.execute(store);
    expect(rows).toEqual([]);
    const second: Migration = { up: async (db) => void (await sql`create table extra (id text)`.execute(db)) };
    await migrate(store, { ...migrations, '9999-extra': second });
    await expect(openPostgres({ url, instanceId: 'b' })).rejects.toMatchObject({ code: 'database_newer' });
  });

  it('with other tables is refused and not changed', async () => {
    const url = await newEmptyDatabase();
    const client = new pg.Client(url);
    await client.connect();
    await client.query('create table orders (id int)');
    await expect(openPostgres({ url, instanceId: 'a' })).rejects.toMatchObject({ code: 'database_foreign', exit: 2 });
    const { rows } = await client.query('select table_name from information_schema.tables where table_schema = current_schema()');
    expect(rows).toEqual([{ table_name: 'orders' }]);
    await client.end();
  });

  it('of a newer version is refused', async () => {
    const url = await newDatabase();
    const store = await openNode(url);
    await sql`insert into kysely_migration (name, timestamp) values ('9999-future', '')`.execute(store);
    await expect(openPostgres({ url, instanceId: 'b' })).rejects.toMatchObject({
      ...{ code: 'database_newer', exit: 6, message: expect.stringContaining('9999-future') },
    });
  });

  it('with another encoding is refused', async () => {
    const url = await newEmptyDatabase("encoding 'LATIN1' locale_provider libc locale 'C'");
    await expect(openPostgres({ url, instanceId: 'a' })).rejects.toMatchObject({
      ...{ code: 'database_unsuitable', message: 'The encoding of the database is LATIN1.' },
    });
  });

  it('that allows too few connections is refused', async () => {
    const url = await newDatabase();
    await expect(openPostgres({ url, instanceId: 'a', maxConnections: 10_000 })).rejects.toMatchObject({
      ...{ code: 'database_connections_too_few', message: expect.stringContaining('needs up to 10001') },
    });
  });

  it('that cannot be reached or does not exist is refused', async () => {
    const url = await newDatabase();
    const proxy = await DatabaseProxy.to(url);
    proxy.cut();
    await expect(openPostgres({ url: proxy.url, instanceId: 'a' })).rejects.toMatchObject({ code: 'database_unreachable', exit: 8 });
    const missing = new URL(url);
    missing.pathname = '/none';
    await expect(openPostgres({ url: missing.href, instanceId: 'a' })).rejects.toMatchObject({
      ...{ code: 'database_unreachable', message: expect.stringContaining('"none" does not exist') },
    });
  });
});
