/** What a database does without changes, after failures, and while it is being closed. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { Gate } from '../../../helpers/runtime.ts';
import { inTransaction, openCounted, turns } from './counted-database.ts';

describe('reading', () => {
  it('neither commits nor syncs, also in a transaction', async () => {
    const { db, commits, disk, names, insert } = await openCounted();
    await insert('a').execute();
    const before = [commits.count, disk.syncs];
    expect(await names()).toEqual(['a']);
    await turns();
    expect([commits.count, disk.syncs]).toEqual(before);
    expect(await db.transaction().execute((trx) => trx.selectFrom('settings').select('name').execute())).toEqual([{ name: 'a' }]);
    await turns();
    expect(disk.syncs).toBe(before[1]);
  });
});

describe('a statement', () => {
  it('that fails is refused alone, within its transaction and outside', async () => {
    const { db, insert, names, commits } = await openCounted();
    await insert('a').execute();
    const before = commits.count;
    const withDuplicate = db.transaction().execute(async (trx) => {
      const duplicate = trx.insertInto('settings').values({ name: 'a', value: '' }).execute();
      await expect(duplicate).rejects.toThrow('UNIQUE');
      await trx.insertInto('settings').values({ name: 'b', value: '' }).execute();
    });
    const single = expect(insert('a').execute()).rejects.toThrow('UNIQUE');
    await Promise.all([withDuplicate, single]);
    expect([await names(), commits.count]).toEqual([['a', 'b'], before + 1]);
  });

  it('that is written by hand invalidates what was cached, because it can change anything', async () => {
    const { db, changes } = await openCounted();
    const before = changes.versionOf(['settings']);
    await sql`pragma user_version = 1`.execute(db);
    expect(changes.versionOf(['settings'])).toBeGreaterThan(before);
  });
});

it('after SQLite has rolled back a unit of work, others can write', async () => {
  const { db, fault, names } = await openCounted();
  fault.statement = 'insert into "settings" ("name", "value") values (?, ?) on conflict do nothing';
  const failure = db.atomically(async ({ store }) => {
    const failingInsert = store.insertInto('settings').values({ name: 'one', value: '' });
    await failingInsert
      .onConflict((conflict) => conflict.doNothing())
      .execute()
      .catch(() => undefined);
    await inTransaction(store, 'two').catch(() => undefined);
  });
  await expect(failure).rejects.toThrow('full');
  await inTransaction(db, 'three');
  expect(await names()).toEqual(['three']);
});

it('a part of a unit of work that SQLite has rolled back fails with the reason, even if it has ignored it', async () => {
  const { db, fault, names } = await openCounted();
  fault.statement = 'insert into "settings" ("name", "value") values (?, ?) on conflict do nothing';
  const failure = db.atomically(({ store }) =>
    store.transaction().execute(async (trx) => {
      const failingInsert = trx.insertInto('settings').values({ name: 'one', value: '' });
      await failingInsert
        .onConflict((conflict) => conflict.doNothing())
        .execute()
        .catch(() => undefined);
    }),
  );
  await expect(failure).rejects.toThrow('full');
  expect(await names()).toEqual([]);
});

it('a statement that is written by hand is on the disk before anybody reads what it has changed', async () => {
  const { db, disk, names, insert } = await openCounted();
  const [first, second] = [new Gate(), new Gate()];
  disk.sync = () => first.opened as Promise<undefined>;
  const pendingInsert = insert('a').execute();
  await turns();
  disk.sync = () => second.opened as Promise<undefined>;
  const pendingUpdate = sql`update settings set name = 'b'`.execute(db);
  await turns();
  first.open();
  await pendingInsert;
  await turns();
  let isRead = false;
  const pendingRead = names().finally(() => {
    isRead = true;
  });
  await turns();
  expect(isRead).toBe(false);
  second.open();
  expect(await pendingRead).toEqual(['b']);
  await pendingUpdate;
});

it('after a failed sync, nothing more is committed', async () => {
  const { db, commits, disk, insert, storedNames } = await openCounted();
  disk.sync = () => Promise.reject(new Error('EIO'));
  await expect(insert('a').execute()).rejects.toThrow('restart the service');
  const before = commits.count;
  for (let count = 0; count < 2; count++) {
    await expect(inTransaction(db, 'b')).rejects.toThrow('restart the service');
    await expect(insert('c').execute()).rejects.toThrow('restart the service');
  }
  await turns();
  expect([commits.count, storedNames()]).toEqual([before, ['a']]);
});

describe('closing', () => {
  it('waits for the transaction in progress', async () => {
    const { db, keptNames, disk } = await openCounted();
    const [beginGate, resumeGate] = [new Gate(), new Gate()];
    const transaction = db.transaction().execute(async (trx) => {
      await trx.insertInto('settings').values({ name: 'first', value: '' }).execute();
      beginGate.open();
      await resumeGate.opened;
      await trx.insertInto('settings').values({ name: 'second', value: '' }).execute();
    });
    await beginGate.opened;
    const closing = db.destroy();
    await turns();
    expect(disk.isClosed).toBe(false);
    resumeGate.open();
    await Promise.all([transaction, closing]);
    expect([disk.isClosed, keptNames()]).toEqual([true, ['first', 'second']]);
  });

  it('ends all access, also for those that had begun before', async () => {
    const { db, keptNames } = await openCounted();
    await db.connection().execute(async (connection) => {
      await connection.insertInto('settings').values({ name: 'before', value: '' }).execute();
      await db.destroy();
      await expect(connection.selectFrom('settings').select('name').execute()).rejects.toThrow('The database was closed.');
      await expect(connection.insertInto('settings').values({ name: 'after', value: '' }).execute()).rejects.toThrow('closed');
    });
    expect(keptNames()).toEqual(['before']);
  });
});
