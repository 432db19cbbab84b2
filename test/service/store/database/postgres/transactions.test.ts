/** Transactions of Postgres: what is repeated, what fails, and what happens when the connection is lost. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { Queries, Store } from '../../../../../src/service/store/database/database.ts';
import { preparedQuery } from '../../../../../src/service/store/database/prepared.ts';
import { DatabaseUnavailableError, LostCommitError } from '../../../../../src/service/store/database/unavailable.ts';
import { DatabaseProxy } from '../../../../support/database-proxy.ts';
import { eventually } from '../../../../support/eventually.ts';
import { needsPostgres, newDatabase } from '../../../../support/postgres.ts';
import { describeNeeding } from '../../../../support/requirements.ts';
import { openNode, openNodes } from '../../../helpers/postgres.ts';
import { Gate } from '../../../helpers/runtime.ts';

/** How many statements wait for the row of another transaction, or for their turn to do so. */
const lockWaits = async (db: Queries): Promise<number> => {
  const { rows } = await sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`.execute(db);
  return rows.length;
};
const insert = (db: Queries, name: string) => db.insertInto('settings').values({ name, value: '' }).execute();
const touch = (db: Queries, name: string) => db.updateTable('settings').set({ value: 'touched' }).where('name', '=', name).execute();
/** Without the setting that the migrations have written. */
const names = async (store: Queries) => {
  const rows = await store.selectFrom('settings').select('name').where('name', '!=', 'schema_min').orderBy('name').execute();
  return rows.map(({ name }) => name);
};

describeNeeding(needsPostgres, 'a transaction on Postgres', () => {
  it('is executed again after a deadlock with another node', async () => {
    const [a, b] = (await openNodes('a', 'b')) as [Store, Store];
    for (const name of ['x', 'y']) await insert(a, name);
    const gates = { x: new Gate(), y: new Gate() };
    const committed = new Gate();
    let attempts = 0;
    const crossing = async (store: Store, first: 'x' | 'y', second: 'x' | 'y') => {
      await store.transaction().execute(async (trx) => {
        attempts += 1;
        // The repeated transaction could overtake the other one, which still waits for a row, and cross it again.
        if (attempts === 3) await committed.opened;
        await touch(trx, first);
        gates[first].open();
        await gates[second].opened;
        await touch(trx, second);
      });
      committed.open();
    };
    await Promise.all([crossing(a, 'x', 'y'), crossing(b, 'y', 'x')]);
    expect(attempts).toBe(3);
  });

  it('that has looked for a row in vain finds the one that another node has inserted meanwhile', async () => {
    const [a, b] = (await openNodes('a', 'b')) as [Store, Store];
    const results: string[] = [];
    await a.transaction().execute(async (trx) => {
      const existing = await trx.selectFrom('settings').select('name').where('name', '=', 'unique').executeTakeFirst();
      results.push(existing === undefined ? 'free' : 'taken');
      if (existing !== undefined) return;
      if (results.length === 1) await insert(b, 'unique');
      await insert(trx, 'unique');
    });
    expect(results).toEqual(['free', 'taken']);
  });

  it('takes back a failed part alone', async () => {
    const [store] = (await openNodes('a')) as [Store];
    await store.atomically(async ({ store: unit }) => {
      await insert(unit, 'before');
      const part = unit.transaction().execute(async (trx) => {
        await insert(trx, 'part');
        await sql`select 1 / 0`.execute(trx);
      });
      await expect(part).rejects.toThrow('division by zero');
      await insert(unit, 'after');
    });
    expect(await names(store)).toEqual(['after', 'before']);
  });

  it('fails if a statement has failed and nobody has noticed', async () => {
    const [store] = (await openNodes('a')) as [Store];
    const transaction = store.transaction().execute(async (trx) => {
      await insert(trx, 'a');
      await sql`select 1 / 0`.execute(trx).catch(() => undefined);
    });
    await expect(transaction).rejects.toThrow('one of its statements had failed');
    expect(await names(store)).toEqual([]);
  });

  it('counts its changes when it is committed, and those of parts that were taken back never', async () => {
    const [store] = (await openNodes('a')) as [Store];
    const version = () => store.changes.versionOf(['settings']);
    const before = version();
    await store.transaction().execute(async (trx) => {
      await insert(trx, 'a');
      expect(version()).toBe(before);
    });
    expect(version()).toBe(before + 1);
    await store.atomically(async ({ store: unit }) => {
      const part = unit.transaction().execute(async (trx) => {
        await insert(trx, 'b');
        throw new Error('taken back');
      });
      await expect(part).rejects.toThrow('taken back');
    });
    expect(version()).toBe(before + 1);
    await store.atomically(async ({ store: unit }) => {
      await insert(unit, 'c');
      await unit.transaction().execute((trx) => insert(trx, 'd'));
      const part = unit.transaction().execute(async (trx) => {
        await insert(trx, 'e');
        throw new Error('taken back');
      });
      await expect(part).rejects.toThrow('taken back');
      await insert(unit, 'f');
    });
    expect(version()).toBe(before + 4);
    await store.transaction().execute(names);
    expect(version()).toBe(before + 4);
  });

  it('fails with the name of the problem while the database is away, and later ones succeed', async () => {
    const proxy = await DatabaseProxy.to(await newDatabase());
    const store = await openNode(proxy.url);
    await insert(store, 'before');
    const transaction = store.transaction().execute(async (trx) => {
      await insert(trx, 'lost');
      proxy.cut();
      await insert(trx, 'lost, too');
    });
    await expect(transaction).rejects.toThrow(DatabaseUnavailableError);
    await expect(names(store)).rejects.toThrow(DatabaseUnavailableError);
    proxy.restore();
    expect(await names(store)).toEqual(['before']);
  });

  it('whose commit was not answered has an unknown result, unless it can be looked up', async () => {
    const proxy = await DatabaseProxy.to(await newDatabase());
    const store = await openNode(proxy.url);
    proxy.loseAnswerTo('commit');
    await expect(store.transaction().execute((trx) => insert(trx, 'a'))).rejects.toThrow(LostCommitError);
    proxy.loseAnswerTo('commit');
    const effects: string[] = [];
    const result = await store.atomically(
      async ({ store: unit, afterCommit }) => {
        await insert(unit, 'b');
        afterCommit(() => effects.push('after'));
        return 'done';
      },
      { wasCommitted: async (error) => error instanceof LostCommitError && (await names(store)).includes('b') },
    );
    expect([result, effects, await names(store)]).toEqual(['done', ['after'], ['a', 'b']]);
  });

  it('continues with new connections after a newer version has changed a table', async () => {
    const url = await newDatabase();
    const [a, b] = [await openNode(url, 'a', 3), await openNode(url, 'b', 1)];
    const all = preparedQuery((db, _: object) => db.selectFrom('settings').selectAll().where('name', '!=', 'schema_min'));
    const read = (db: Queries) => all.all(db, {});
    // Each of these connections has prepared the statement.
    await Promise.all([1, 2, 3].map(() => a.transaction().execute(read)));
    await sql`alter table settings add column later text`.execute(b);
    const inTransaction = a.transaction().execute(async (trx) => {
      await insert(trx, 'x');
      return read(trx);
    });
    expect(await inTransaction).toMatchObject([{ name: 'x', later: null }]);
    for (let count = 0; count < 3; count++) expect(await read(a)).toHaveLength(1);
  });

  it('of a frozen process ends by itself, so that others get its rows', async () => {
    const [a, b] = (await openNodes('a', 'b')) as [Store, Store];
    await insert(a, 'row');
    const transaction = a.transaction().execute(async (trx) => {
      await sql`set local idle_in_transaction_session_timeout = 100`.execute(trx);
      await touch(trx, 'row');
      // The other node waits for the row until the server has ended this transaction.
      await touch(b, 'row');
      await touch(trx, 'row');
    });
    await expect(transaction).rejects.toThrow(DatabaseUnavailableError);
  });

  it('begins on another connection if the first one was lost, and fails if there is none', async () => {
    const proxy = await DatabaseProxy.to(await newDatabase());
    const store = await openNode(proxy.url, 'node', 1);
    await insert(store, 'before');
    // The process learns of the end after it has begun to send.
    proxy.cut();
    await expect(store.transaction().execute(names)).rejects.toThrow(DatabaseUnavailableError);
    proxy.restore();
    expect(await store.transaction().execute(names)).toEqual(['before']);
    proxy.cut();
    proxy.restore();
    expect(await store.transaction().execute(names)).toEqual(['before']);
  });

  it('without a team can use every connection', async () => {
    const store = await openNode(await newDatabase(), 'node', 5);
    const all = new Gate();
    let begun = 0;
    const one = (name: string, teamId?: string) =>
      store.atomically(
        async ({ store: unit }) => {
          await insert(unit, name);
          begun += 1;
          if (begun === 5) all.open();
          await all.opened;
        },
        teamId === undefined ? {} : { teamId },
      );
    await Promise.all([one('a', 'team'), one('b'), one('c', 'team'), one('d'), one('e')]);
    expect(await names(store)).toHaveLength(5);
  });

  it('for a team that gets no connection does not count any more', async () => {
    const proxy = await DatabaseProxy.to(await newDatabase());
    const store = await openNode(proxy.url, 'node', 5);
    proxy.cut();
    const inserting = (name: string) => store.atomically(async ({ store: unit }) => void (await insert(unit, name)), { teamId: 'one' });
    // More than there may be at a time.
    for (let count = 0; count < 4; count++) await expect(inserting('lost')).rejects.toThrow(DatabaseUnavailableError);
    proxy.restore();
    await inserting('first');
    expect(await names(store)).toEqual(['first']);
  });

  it('of a team that waits for a lock leaves connections to others, also after some have failed', async () => {
    const url = await newDatabase();
    const [node, other] = [await openNode(url, 'a', 5), await openNode(url, 'b')];
    for (const name of ['busy', 'free']) await insert(other, name);
    const isFree = new Gate();
    const isLocked = new Gate();
    const holder = other.transaction().execute(async (trx) => {
      await touch(trx, 'busy');
      isLocked.open();
      await isFree.opened;
    });
    await isLocked.opened;
    const touching = (name: string, teamId: string) => node.atomically(async ({ store }) => void (await touch(store, name)), { teamId });
    // As many as there are connections for a team, and more than there are at all.
    for (let count = 0; count < 2; count++)
      await expect(node.atomically(async ({ store }) => void (await insert(store, 'free')), { teamId: 'one' })).rejects.toThrow('unique');
    const waiting = Array.from({ length: 8 }, () => touching('busy', 'one'));
    try {
      await eventually('two wait', async () => (await lockWaits(other)) === 2);
      expect(await names(node)).toEqual(['busy', 'free']);
      await touching('free', 'two');
      await node.transaction().execute((trx) => insert(trx, 'new'));
      expect(await lockWaits(other)).toBe(2);
    } finally {
      isFree.open();
      await Promise.allSettled([holder, ...waiting]);
    }
    await Promise.all([holder, ...waiting]);
  });
});
