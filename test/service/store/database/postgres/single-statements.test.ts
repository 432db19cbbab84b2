/** Statements on Postgres that are not part of a transaction: which are prepared, and which are executed again. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { Queries, Store } from '../../../../../src/service/store/database/database.ts';
import { preparedQuery } from '../../../../../src/service/store/database/prepared.ts';
import { DatabaseUnavailableError } from '../../../../../src/service/store/database/unavailable.ts';
import { DatabaseProxy } from '../../../../support/database-proxy.ts';
import { eventually } from '../../../../support/eventually.ts';
import { needsPostgres, newDatabase } from '../../../../support/postgres.ts';
import { describeNeeding } from '../../../../support/requirements.ts';
import { isLockWaitedFor, openNode, openNodes } from '../../../helpers/postgres.ts';

const all = preparedQuery((db, _: object) => db.selectFrom('settings').selectAll().where('name', '!=', 'schema_min').orderBy('name'));
/** Part of that statement, and of none that the node executes by itself. */
const read = 'from "settings"';
const insert = (db: Queries, name: string) => db.insertInto('settings').values({ name, value: '' }).execute();
const names = async (db: Queries) => (await all.all(db, {})).map(({ name }) => name);

describeNeeding(needsPostgres, 'a single statement', () => {
  it('that reads is executed again if its connection had ended, and one that changes something is not', async () => {
    const proxy = await DatabaseProxy.to(await newDatabase());
    const store = await openNode(proxy.url, 'node', 1);
    await insert(store, 'a');
    // The process learns of the end after it has begun to send.
    proxy.cut();
    proxy.restore();
    expect(await names(store)).toEqual(['a']);
    proxy.cut();
    proxy.restore();
    await expect(insert(store, 'b')).rejects.toThrow(DatabaseUnavailableError);
    expect(await names(store)).toEqual(['a']);
    // The database has executed it, but nobody knows.
    proxy.loseAnswerTo('insert');
    await expect(insert(store, 'c')).rejects.toThrow(DatabaseUnavailableError);
    expect(await names(store)).toEqual(['a', 'c']);
  });

  it('that reads fails when the second attempt does', async () => {
    const proxy = await DatabaseProxy.to(await newDatabase());
    const store = await openNode(proxy.url, 'node', 1);
    await insert(store, 'a');
    proxy.loseAnswerTo(read, 2);
    await expect(names(store)).rejects.toThrow(DatabaseUnavailableError);
    expect(await names(store)).toEqual(['a']);
    proxy.loseAnswerTo(read);
    expect(await names(store)).toEqual(['a']);
  });

  it('that is wrong fails at once, and its connection can still be used', async () => {
    const store = await openNode(await newDatabase(), 'node', 1);
    const session = async () => (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(store)).rows[0]?.pid;
    const before = await session();
    await insert(store, 'a');
    await expect(insert(store, 'a')).rejects.toThrow('duplicate key');
    await expect(sql`select 1 / 0`.execute(store)).rejects.toThrow('division by zero');
    expect(await session()).toBe(before);
  });

  it('that the database ends because of a deadlock is executed again', async () => {
    const [a, b] = (await openNodes('a', 'b')) as [Store, Store];
    for (const name of ['x', 'y']) await insert(a, name);
    let single: Promise<unknown> | undefined;
    await b.transaction().execute(async (trx) => {
      await sql`update settings set value = 'b' where name = 'y'`.execute(trx);
      // It has locked one row and waits for the other one. As the first that waits, it is the one that the database ends.
      single = sql`update settings set value = value || 'a' where name = any(array['x', 'y'])`.execute(a);
      await eventually('it waits', async () => (await isLockWaitedFor(b)) || undefined);
      await sql`update settings set value = 'b' where name = 'x'`.execute(trx);
    });
    await single;
    expect((await all.all(a, {})).map(({ value }) => value)).toEqual(['ba', 'ba']);
  });

  it('is prepared if it is often used, and executed anew after another node has changed its table', async () => {
    const url = await newDatabase();
    const [store, other] = [await openNode(url, 'a', 1), await openNode(url, 'b', 1)];
    const prepared = async () =>
      (await sql<{ statement: string }>`select statement from pg_prepared_statements`.execute(store)).rows.map(
        ({ statement }) => statement,
      );
    await insert(store, 'a');
    expect(await prepared()).toEqual([]);
    for (let count = 0; count < 2; count++) await names(store);
    expect(await prepared()).toEqual([expect.stringContaining('from "settings"')]);
    await sql`alter table settings add column later text`.execute(other);
    expect(await all.all(store, {})).toMatchObject([{ name: 'a', later: null }]);
  });
});
