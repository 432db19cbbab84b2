/** Groups that cannot be committed or synced: nothing is acknowledged too early, and nothing is written afterwards. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { Changes } from '../../../../../src/service/store/database/changes.ts';
import type { Queries } from '../../../../../src/service/store/database/database.ts';
import { GroupCommit } from '../../../../../src/service/store/database/sqlite/group-commit.ts';
import { Gate } from '../../../helpers/runtime.ts';
import { counted, inTransaction, turns } from './counted-database.ts';

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
    const { db, disk, insert } = await counted();
    const resumeGate = heldSync(disk);
    const done: string[] = [];
    const note = (what: string) => () => void done.push(what);
    const all = [
      insert('a').execute().then(note('insert')),
      inTransaction(db, 'b').then(note('transaction')),
      db
        .transaction()
        .execute((trx) => trx.selectFrom('settings').select('name').execute())
        .then(note('read')),
    ];
    await turns();
    expect(done).toEqual([]);
    resumeGate.open();
    await Promise.all(all);
    expect(done).toHaveLength(3);
  });

  it('also if it was made by a statement outside of transactions', async () => {
    const { db, disk, names } = await counted();
    const resumeGate = heldSync(disk);
    const done: string[] = [];
    const written = sql`insert into settings (name, value) values ('own', '')`.execute(db).then(() => done.push('own'));
    await turns();
    const read = names().then((found) => done.push(`read ${found.join()}`));
    await turns();
    expect(done).toEqual([]);
    resumeGate.open();
    await Promise.all([written, read]);
    expect(done.sort()).toEqual(['own', 'read own']);
  });

  it('also if an earlier one was synced in the meantime', async () => {
    const { db, disk, insert, names } = await counted();
    const first = heldSync(disk);
    const earlier = insert('earlier').execute();
    await turns();
    const second = heldSync(disk);
    const done: string[] = [];
    const own = sql`insert into settings (name, value) values ('own', '')`.execute(db).then(() => done.push('own'));
    await turns();
    first.open();
    await earlier;
    const read = names().then(() => done.push('read'));
    await turns();
    expect(done).toEqual([]);
    second.open();
    await Promise.all([own, read]);
  });
});

it('transactions that change nothing do not wait for the disk', async () => {
  const { db, disk, insert } = await counted();
  await insert('before').execute();
  disk.syncs = 0;
  const resumeGate = heldSync(disk);
  expect(await db.transaction().execute((trx) => trx.selectFrom('settings').select('name').execute())).toEqual([{ name: 'before' }]);
  const rejected = db.transaction().execute(async (trx) => {
    await trx.insertInto('settings').values({ name: 'gone', value: '' }).execute();
    throw new Error('rolled back');
  });
  await expect(rejected).rejects.toThrow('rolled back');
  await turns();
  expect(disk.syncs).toBe(0);
  resumeGate.open();
});

it('a statement outside of transactions counts as a change of every table', async () => {
  const { db, changes } = await counted();
  const before = changes.versionOf([]);
  await sql`pragma user_version`.execute(db);
  expect(changes.versionOf([])).toBe(before + 1);
});

describe('after a failed sync', () => {
  it('nothing is written, in whichever way it is attempted', async () => {
    const { db, disk, commits, insert, stored } = await counted();
    const failure = Object.assign(new Error('I/O error'), { code: 'EIO' });
    disk.sync = () => Promise.reject(failure);
    await expect(insert('a').execute()).rejects.toMatchObject({ code: 'EIO', cause: failure });
    disk.sync = async () => undefined;
    const before = [commits.count, stored()];
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
    expect([commits.count, stored()]).toEqual(before);
  });

  it('everything that waited fails for the same reason', async () => {
    const { db, disk, insert } = await counted();
    const resumeGate = new Gate();
    const failure = new Error('I/O error');
    disk.sync = () => resumeGate.opened.then(() => Promise.reject(failure));
    const written = insert('a').execute();
    await turns();
    const own = sql`pragma user_version`.execute(db);
    const later = insert('b').execute();
    await turns();
    resumeGate.open();
    const [first, ...others] = (await Promise.allSettled([written, own, later])) as PromiseRejectedResult[];
    expect(first?.reason).toMatchObject({ cause: failure });
    for (const { reason } of others) expect(reason).toBe(first?.reason);
    await expect(insert('c').execute()).rejects.toBe(first?.reason);
  });
});

describe('when SQLite rolls back a group by itself,', () => {
  it('a transaction fails with the reason, and the next one succeeds', async () => {
    const { db, broken, names } = await counted();
    broken.statement = itsText;
    await expect(db.transaction().execute((trx) => insertOrNothing(trx, 'a'))).rejects.toMatchObject({ message: 'full' });
    await inTransaction(db, 'after');
    expect(await names()).toEqual(['after']);
  });

  it('a part of a unit of work fails with the reason, even if the statement was caught', async () => {
    const { db, broken, names } = await counted();
    broken.statement = itsText;
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
    const { db, broken, names } = await counted();
    broken.statement = itsText;
    const unit = db.atomically(({ store }) => store.transaction().execute((trx) => insertOrNothing(trx, 'a')));
    await expect(unit).rejects.toMatchObject({ message: 'full' });
    await inTransaction(db, 'after');
    expect(await names()).toEqual(['after']);
  });
});

it('a read is repeated three times if what it saw could not be committed, and then fails', async () => {
  const { database, db, commits } = await counted();
  const group = new GroupCommit(database, { changes: new Changes(), sync: async () => undefined, close: async () => undefined });
  const write = (index: number) =>
    group.runSingle(
      db
        .insertInto('settings')
        .values({ name: `n${index}`, value: '' })
        .compile(),
    );
  const read = db.selectFrom('settings').select('name').compile();
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
  await expect(group.runSingle(read)).rejects.toBe(failure);
  expect(attempts).toBe(4);
  while (attempts <= 10) await turns();
  await Promise.all(writes);
});

it('a database is closed only when everything is synced', async () => {
  const { db, disk, insert } = await counted();
  const resumeGate = heldSync(disk);
  const written = insert('a').execute();
  await new Promise((resolve) => process.nextTick(resolve));
  const closed = db.destroy();
  await turns();
  expect([disk.syncs > 0, disk.isClosed]).toEqual([true, false]);
  resumeGate.open();
  await Promise.all([written, closed]);
  expect(disk.isClosed).toBe(true);
});
