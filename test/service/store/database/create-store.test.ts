/** What stores of all databases have in common: transactions that are executed again, and the beginning of units of work. */
import type { CompiledQuery } from 'kysely';
import Libsql from 'libsql';
import { describe, expect, it } from 'vitest';
import type { Queries, Store } from '../../../../src/service/store/database/database.ts';
import { createStore } from '../../../../src/service/store/database/execution/create-store.ts';
import { LibsqlDialect } from '../../../../src/service/store/database/sqlite/dialect.ts';
import { putEmptyDatabase } from '../../../support/empty-database.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';

const busy = new Error('another transaction was preferred');

/** A store whose database prefers other transactions `conflicts` times: the next changes fail, and may be repeated. */
async function openBusyStore() {
  const directory = await temporaryDirectory();
  await putEmptyDatabase(directory);
  const parts = new LibsqlDialect(new Libsql(`${directory}/aops.db`)).parts();
  const state = { conflicts: 0 };
  const { transactions } = parts;
  const store = createStore({
    ...parts,
    transactions: {
      runSingle: (query) => transactions.runSingle(query),
      begin: () => transactions.begin(),
      run(transaction, query: CompiledQuery) {
        if (query.sql.startsWith('insert') && state.conflicts-- > 0) throw busy;
        return transactions.run(transaction, query);
      },
      end: (transaction) => transactions.end(transaction),
      rollBack: (transaction) => transactions.rollBack(transaction),
      beginPart: (transaction) => transactions.beginPart(transaction),
      endPart: (transaction) => transactions.endPart(transaction),
      rollBackPart: (transaction) => transactions.rollBackPart(transaction),
      isRepeatable: (error) => error === busy,
    },
  });
  afterTest(() => store.destroy());
  return { store, state };
}

const insert = (db: Queries, name: string) => db.insertInto('settings').values({ name, value: '' }).execute();
const names = async (store: Store) => (await store.selectFrom('settings').select('name').orderBy('name').execute()).map(({ name }) => name);

describe('a transaction that its database ended in favour of another one', () => {
  it('is executed again, without what it had done before', async () => {
    const { store, state } = await openBusyStore();
    let attempts = 0;
    const result = await store.transaction().execute(async (trx) => {
      attempts += 1;
      await insert(trx, `attempt ${attempts}`);
      if (attempts < 3) state.conflicts = 1;
      await insert(trx, 'done');
      return attempts;
    });
    expect([result, await names(store)]).toEqual([3, ['attempt 3', 'done']]);
  });

  it('fails after twelve attempts', async () => {
    const { store, state } = await openBusyStore();
    state.conflicts = 12;
    await expect(store.transaction().execute((trx) => insert(trx, 'a'))).rejects.toBe(busy);
    state.conflicts = 11;
    await store.transaction().execute((trx) => insert(trx, 'a'));
    expect(await names(store)).toEqual(['a']);
  });

  it('is executed again alone when it is part of a unit of work', async () => {
    const { store, state } = await openBusyStore();
    await store.atomically(async ({ store: unit }) => {
      await insert(unit, 'before');
      state.conflicts = 1;
      await unit.transaction().execute((trx) => insert(trx, 'part'));
    });
    expect(await names(store)).toEqual(['before', 'part']);
  });

  it('is not repeated after any other error', async () => {
    const { store } = await openBusyStore();
    let attempts = 0;
    const failure = store.transaction().execute(async () => {
      attempts += 1;
      throw new Error('other');
    });
    await expect(failure).rejects.toThrow('other');
    expect(attempts).toBe(1);
  });
});

describe('the beginning of a unit of work', () => {
  it('is executed once, in its transaction, before its first change, and not for reads', async () => {
    const { store } = await openBusyStore();
    const calls: string[] = [];
    const begin = async (queries: Queries) => {
      calls.push('begin');
      await insert(queries, 'begun');
    };
    await store.atomically(async ({ store: unit }) => names(unit), { begin });
    expect(calls).toEqual([]);
    const unit = store.atomically(
      async ({ store: unit }) => {
        await insert(unit, 'a');
        await unit.transaction().execute((trx) => insert(trx, 'b'));
        expect(await names(unit)).toEqual(['a', 'b', 'begun']);
        throw new Error('taken back');
      },
      { begin },
    );
    await expect(unit).rejects.toThrow('taken back');
    expect([calls, await names(store)]).toEqual([['begin'], []]);
  });

  it('that rejects makes all changes fail, and leaves nothing behind', async () => {
    const { store } = await openBusyStore();
    const refusal = new Error('refused');
    const result = await store.atomically(
      async ({ store: unit }) => {
        await expect(insert(unit, 'a')).rejects.toBe(refusal);
        await expect(unit.transaction().execute((trx) => insert(trx, 'b'))).rejects.toBe(refusal);
        return 'continued';
      },
      {
        async begin(queries) {
          await insert(queries, 'begun');
          throw refusal;
        },
      },
    );
    expect([result, await names(store)]).toEqual(['continued', []]);
  });
});
