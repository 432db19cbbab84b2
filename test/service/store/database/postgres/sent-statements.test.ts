/** Statements of a transaction on Postgres whose results nobody waits for. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { Queries, Store } from '../../../../../src/service/store/database/database.ts';
import { preparedQuery } from '../../../../../src/service/store/database/prepared.ts';
import { LostCommitError } from '../../../../../src/service/store/database/unavailable.ts';
import { DatabaseProxy } from '../../../../support/database-proxy.ts';
import { eventually } from '../../../../support/eventually.ts';
import { needsPostgres, newDatabase } from '../../../../support/postgres.ts';
import { describeNeeding } from '../../../../support/requirements.ts';
import { openNode, openNodes } from '../../../helpers/postgres.ts';

type Setting = { name: string; value: string };

const insert = preparedQuery((db, { name, value }: Setting) => db.insertInto('settings').values({ name, value }));
const append = preparedQuery((db, { name, value }: Setting) =>
  db
    .updateTable('settings')
    .set({ value: sql<string>`settings.value || ${value}` })
    .where('name', '=', name),
);
const divide = preparedQuery((db, _: object) => db.updateTable('settings').set({ value: sql<string>`(1 / 0)::text` }));
const settingOf = async (db: Queries, name: string): Promise<string | undefined> =>
  (await db.selectFrom('settings').select('value').where('name', '=', name).executeTakeFirst())?.value;

describeNeeding(needsPostgres, 'statements that nobody waits for', () => {
  it('are executed before the next one, and before the commit', async () => {
    const [store] = (await openNodes('a')) as [Store];
    await store.transaction().execute(async (trx) => {
      await insert.send(trx, { name: 'x', value: 'first' });
      expect(await settingOf(trx, 'x')).toBe('first');
      await append.send(trx, { name: 'x', value: ' second' });
    });
    expect(await settingOf(store, 'x')).toBe('first second');
  });

  it('are sent together with the next one, and with the commit', async () => {
    const proxy = await DatabaseProxy.to(await newDatabase());
    const store = await openNode(proxy.url);
    const sent = async (...texts: string[]) => {
      await eventually(`${texts} were sent`, () => texts.every((text) => proxy.received.includes(text)) || undefined);
      proxy.passAnswers();
    };
    await insert.change(store, { name: 'x', value: '' });
    proxy.withholdAnswers();
    await store.transaction().execute(async (trx) => {
      await append.send(trx, { name: 'x', value: 'first' });
      const [value] = await Promise.all([settingOf(trx, 'x'), sent('begin', 'first', 'select')]);
      expect(value).toBe('first');
      proxy.withholdAnswers();
      await append.send(trx, { name: 'x', value: 'second' });
      await append.send(trx, { name: 'x', value: 'last' });
      void sent('second', 'last', 'commit');
    });
    expect(await settingOf(store, 'x')).toBe('firstsecondlast');
  });

  it('fail the next one, or the commit, with their own error', async () => {
    const [store] = (await openNodes('a')) as [Store];
    await insert.change(store, { name: 'x', value: '' });
    let attempts = 0;
    const failing = (then: (trx: Queries) => Promise<unknown>) =>
      store.transaction().execute(async (trx) => {
        attempts += 1;
        await insert.send(trx, { name: 'y', value: '' });
        await insert.send(trx, { name: 'x', value: 'again' });
        await then(trx);
      });
    // A row that another node has inserted meanwhile is a reason to execute the transaction again.
    await expect(failing((trx) => settingOf(trx, 'x'))).rejects.toThrow('duplicate key');
    await expect(failing(async () => undefined)).rejects.toThrow('duplicate key');
    expect(attempts).toBeGreaterThan(2);
    expect(await settingOf(store, 'y')).toBeUndefined();
  });

  it.each([
    ['sent', 'later'],
    ['executed', 'later'],
    ['sent', 'at the beginning'],
    ['executed', 'at the beginning'],
  ])('fail those that are executed at the same time with the error of the first, which was %s %s', async (how, when) => {
    const [store] = (await openNodes('a')) as [Store];
    await insert.change(store, { name: 'x', value: '' });
    const duplicate = (trx: Queries): unknown =>
      how === 'sent' ? insert.send(trx, { name: 'x', value: '' }) : insert.change(trx, { name: 'x', value: '' });
    let attempts = 0;
    // The others fail because the transaction has failed, which would be no reason to execute it again.
    await store.transaction().execute(async (trx) => {
      attempts += 1;
      if (when === 'later') await settingOf(trx, 'x');
      await Promise.all([attempts < 4 ? duplicate(trx) : undefined, settingOf(trx, 'x'), settingOf(trx, 'y')]);
    });
    expect(attempts).toBe(4);
  });

  it('are taken back with the part that they belong to', async () => {
    const [store] = (await openNodes('a')) as [Store];
    await store.atomically(async ({ store: unit }) => {
      await insert.send(unit, { name: 'x', value: 'before' });
      const part = unit.transaction().execute(async (trx) => {
        await insert.send(trx, { name: 'y', value: '' });
        await append.send(trx, { name: 'x', value: ' never' });
        throw new Error('the part fails');
      });
      await expect(part).rejects.toThrow('the part fails');
      await append.send(unit, { name: 'x', value: ' after' });
    });
    expect([await settingOf(store, 'x'), await settingOf(store, 'y')]).toEqual(['before after', undefined]);
  });

  it('that fail in a part are an error of the part, and not of what follows', async () => {
    const [store] = (await openNodes('a')) as [Store];
    await insert.change(store, { name: 'x', value: 'before' });
    await store.atomically(async ({ store: unit }) => {
      const part = unit.transaction().execute((trx) => insert.send(trx, { name: 'x', value: 'again' }));
      await expect(part).rejects.toThrow('duplicate key');
      await append.send(unit, { name: 'x', value: ' after' });
    });
    expect(await settingOf(store, 'x')).toBe('before after');
  });

  it('that fail together with the commit are no lost commit', async () => {
    const [store] = (await openNodes('a')) as [Store];
    await insert.change(store, { name: 'x', value: '' });
    const transaction = store.transaction().execute(async (trx) => {
      await settingOf(trx, 'x');
      await insert.send(trx, { name: 'x', value: 'again' });
    });
    const error = await transaction.catch((failure: unknown) => failure);
    expect(error).not.toBeInstanceOf(LostCommitError);
    expect(error).toMatchObject({ message: expect.stringContaining('duplicate key') });
  });

  it('fail the part that follows with their own error, also if an earlier part has failed', async () => {
    const [store] = (await openNodes('a')) as [Store];
    await insert.change(store, { name: 'x', value: '' });
    const failing = (prepare: (unit: Store) => Promise<unknown>) =>
      store.atomically(async ({ store: unit }) => {
        await prepare(unit);
        await divide.send(unit, {});
        await unit.transaction().execute((trx) => settingOf(trx, 'x'));
      });
    await expect(failing(async () => undefined)).rejects.toThrow('division by zero');
    const earlier = async (unit: Store): Promise<void> => {
      const part = unit.transaction().execute((trx) => insert.send(trx, { name: 'x', value: 'again' }));
      await expect(part).rejects.toThrow('duplicate key');
    };
    await expect(failing(earlier)).rejects.toThrow('division by zero');
  });

  it('are sent again if the connection had ended before the transaction', async () => {
    const proxy = await DatabaseProxy.to(await newDatabase());
    const store = await openNode(proxy.url, 'a', 1);
    await insert.change(store, { name: 'x', value: '' });
    const several = async (trx: Queries): Promise<void> => {
      const [before, , after] = await Promise.all([
        settingOf(trx, 'x'),
        append.change(trx, { name: 'x', value: '!' }),
        settingOf(trx, 'x'),
      ]);
      expect([before, after]).toEqual(['+++', '+++!']);
    };
    for (const then of [(trx: Queries) => settingOf(trx, 'x'), async () => undefined, several]) {
      // The process learns of the end after it has begun to send.
      proxy.cut();
      proxy.restore();
      await store.transaction().execute(async (trx) => {
        await append.send(trx, { name: 'x', value: '+' });
        await then(trx);
      });
    }
    expect(await settingOf(store, 'x')).toBe('+++!');
  });
});
