/** Groups that cannot be committed or synced: nothing is acknowledged too early, and nothing is written afterwards. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { Changes } from '../../../../../src/service/store/database/changes.ts';
import type { Queries } from '../../../../../src/service/store/database/database.ts';
import { GroupCommit } from '../../../../../src/service/store/database/sqlite/group-commit.ts';
import { Gate } from '../../../helpers/runtime.ts';
import { inTransaction, openCounted, turns } from './counted-database.ts';

/** A statement that `counted` can let fail as on a full disk; only here it has this form. */
const insertOrNothing = (db: Queries, name: string) =>
  db
    .insertInto('settings')
    .values({ name, value: '' })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
const itsText = 'insert into "settings" ("name", "value") values (?, ?) on conflict do nothing';

/** A sync that waits, and what lets it continue. */
function heldSync(disk: { sync: () => Promise<undefined> }): Gate {
  const resumeGate = new Gate();
  disk.sync = () => resumeGate.opened as Promise<undefined>;
  return resumeGate;
}

describe('a change is acknowledged only when it is synced,', () => {
  it('also if a transaction of the same moment changes nothing', async () => {
    const { db, disk, insert } = await openCounted();
    const resumeGate = heldSync(disk);
    const completions: string[] = [];
    const note = (label: string) => () => void completions.push(label);
    const all = [
      insert('a').execute().then(note('insert')),
      inTransaction(db, 'b').then(note('transaction')),
      db
        .transaction()
        .execute((trx) => trx.selectFrom('settings').select('name').execute())
        .then(note('read')),
    ];
    await turns();
    expect(completions).toEqual([]);
    resumeGate.open();
    await Promise.all(all);
    expect(completions).toHaveLength(3);
  });

  it('also if it was made by a statement outside of transactions', async () => {
    const { db, disk, names } = await openCounted();
    const resumeGate = heldSync(disk);
    const completions: string[] = [];
    const pendingWrite = sql`insert into settings (name, value) values ('own', '')`.execute(db).then(() => completions.push('own'));
    await turns();
    const pendingRead = names().then((nameList) => completions.push(`read ${nameList.join()}`));
    await turns();
    expect(completions).toEqual([]);
    resumeGate.open();
    await Promise.all([pendingWrite, pendingRead]);
    expect(completions.sort()).toEqual(['own', 'read own']);
  });

  it('also if an earlier one was synced in the meantime', async () => {
    const { db, disk, insert, names } = await openCounted();
    const first = heldSync(disk);
    const earlierInsert = insert('earlier').execute();
    await turns();
    const second = heldSync(disk);
    const completions: string[] = [];
    const ownWrite = sql`insert into settings (name, value) values ('own', '')`.execute(db).then(() => completions.push('own'));
    await turns();
    first.open();
    await earlierInsert;
    const pendingRead = names().then(() => completions.push('read'));
    await turns();
    expect(completions).toEqual([]);
    second.open();
    await Promise.all([ownWrite, pendingRead]);
  });
});

it('transactions that change nothing do not wait for the disk', async () => {
  const { db, disk, insert } = await openCounted();
  await insert('before').execute();
  disk.syncs = 0;
  const resumeGate = heldSync(disk);
  expect(await db.transaction().execute((trx) => trx.selectFrom('settings').select('name').execute())).toEqual([{ name: 'before' }]);
  const rejection = db.transaction().execute(async (trx) => {
    await trx.insertInto('settings').values({ name: 'gone', value: '' }).execute();
    throw new Error('rolled back');
  });
  await expect(rejection).rejects.toThrow('rolled back');
  await turns();
  expect(disk.syncs).toBe(0);
  resumeGate.open();
});

it('a statement outside of transactions counts as a change of every table', async () => {
  const { db, changes } = await openCounted();
  const before = changes.versionOf([]);
  await sql`pragma user_version`.execute(db);
  expect(changes.versionOf([])).toBe(before + 1);
});

describe('after a failed sync', () => {
  it('nothing is written, in whichever way it is attempted', async () => {
    const { db, disk, commits, insert, storedNames } = await openCounted();
    const failure = Object.assign(new Error('I/O error'), { code: 'EIO' });
    disk.sync = () => Promise.reject(failure);
    await expect(insert('a').execute()).rejects.toMatchObject({ code: 'EIO', cause: failure });
    disk.sync = async () => undefined;
    const before = [commits.count, storedNames()];
    const attempts = [
      insert('b').execute(),
      inTransaction(db, 'c'),
      db.atomically(({ store }) => inTransaction(store, 'd')),
      sql`insert into settings (name, value) values ('e', '')`.execute(db),
      db.selectFrom('settings').select('name').execute(),
    ];
    for (const { status, reason } of (await Promise.allSettled(attempts)) as PromiseRejectedResult[])
      expect([status, reason]).toEqual(['rejected', expect.objectContaining({ code: 'EIO', cause: failure })]);
    await turns();
    expect([commits.count, storedNames()]).toEqual(before);
  });

  it('everything that waited fails for the same reason', async () => {
    const { db, disk, insert } = await openCounted();
    const resumeGate = new Gate();
    const failure = new Error('I/O error');
    disk.sync = () => resumeGate.opened.then(() => Promise.reject(failure));
    const pendingWrite = insert('a').execute();
    await turns();
    const ownQuery = sql`pragma user_version`.execute(db);
    const laterInsert = insert('b').execute();
    await turns();
    resumeGate.open();
    const [first, ...otherResults] = (await Promise.allSettled([pendingWrite, ownQuery, laterInsert])) as PromiseRejectedResult[];
    expect(first?.reason).toMatchObject({ cause: failure });
    for (const { reason } of otherResults) expect(reason).toBe(first?.reason);
    await expect(insert('c').execute()).rejects.toBe(first?.reason);
  });
});

describe('when SQLite rolls back a group by itself,', () => {
  it('a transaction fails with the reason, and the next one succeeds', async () => {
    const { db, fault, names } = await openCounted();
    fault.statement = itsText;
    await expect(db.transaction().execute((trx) => insertOrNothing(trx, 'a'))).rejects.toMatchObject({ message: 'full' });
    await inTransaction(db, 'after');
    expect(await names()).toEqual(['after']);
  });

  it('a part of a unit of work fails with the reason, even if the statement was caught', async () => {
    const { db, fault, names } = await openCounted();
    fault.statement = itsText;
    const errors: unknown[] = [];
    const note = (error: unknown) => errors.push(error);
    const unit = db.atomically(async ({ store }) => {
      await store
        .transaction()
        .execute((trx) => insertOrNothing(trx, 'a').catch(note))
        .catch(note);
      // Further parts cannot begin.
      await inTransaction(store, 'b').catch(note);
    });
    await unit.catch(note);
    expect(errors).toHaveLength(4);
    for (const error of errors) expect(error).toMatchObject({ message: 'full' });
    await inTransaction(db, 'after');
    expect(await names()).toEqual(['after']);
  });

  it('a part that fails fails with the reason, and so does its unit of work', async () => {
    const { db, fault, names } = await openCounted();
    fault.statement = itsText;
    const unit = db.atomically(({ store }) => store.transaction().execute((trx) => insertOrNothing(trx, 'a')));
    await expect(unit).rejects.toMatchObject({ message: 'full' });
    await inTransaction(db, 'after');
    expect(await names()).toEqual(['after']);
  });
});

it('a read is repeated three times if what it saw could not be committed, and then fails', async () => {
  const { database, db, commits } = await openCounted();
  const group = new GroupCommit(database, { changes: new Changes(), sync: async () => undefined, close: async () => undefined });
  const write = (index: number) =>
    group.runSingle(
      db
        .insertInto('settings')
        .values({ name: `n${index}`, value: '' })
        .compile(),
    );
  const readQuery = db.selectFrom('settings').select('name').compile();
  const failure = new Error('no space left');
  let attempts = 0;
  const writes: Promise<unknown>[] = [];
  // Each failed commit is followed by another change, before the read is repeated.
  Object.defineProperty(commits, 'failure', {
    get: () => {
      attempts += 1;
      if (attempts > 10) return undefined;
      writes.push(write(attempts).catch(() => undefined));
      return failure;
    },
  });
  writes.push(write(0).catch(() => undefined));
  await expect(group.runSingle(readQuery)).rejects.toBe(failure);
  expect(attempts).toBe(4);
  while (attempts <= 10) await turns();
  await Promise.all(writes);
});

it('a database is closed only when everything is synced', async () => {
  const { db, disk, insert } = await openCounted();
  const resumeGate = heldSync(disk);
  const pendingWrite = insert('a').execute();
  await new Promise((resolve) => process.nextTick(resolve));
  const closing = db.destroy();
  await turns();
  expect([disk.syncs > 0, disk.isClosed]).toEqual([true, false]);
  resumeGate.open();
  await Promise.all([pendingWrite, closing]);
  expect(disk.isClosed).toBe(true);
});
