/** Transactions that reach the disk together: when each of them resolves or rejects. */
import { sql } from 'kysely';
import Libsql from 'libsql';
import { describe, expect, it } from 'vitest';
import type { Queries } from '../../../../../src/service/store/database/database.ts';
import { temporaryDirectory } from '../../../../support/temporary.ts';
import { Gate } from '../../../helpers/runtime.ts';
import { counted, inTransaction, turns } from './counted-database.ts';

describe('a full disk', () => {
  it('does not prevent reads of existing data', async () => {
    const { db, commits, names, insert } = await counted();
    await insert('kept').execute();
    commits.failure = new Error('no space left');
    const lost = [insert('a').execute(), inTransaction(db, 'b')].map((one) => one.catch((error: unknown) => error));
    // It reads at the same moment, so it sees the uncommitted changes first.
    expect(await names()).toEqual(['kept']);
    expect(await Promise.all(lost)).toEqual([commits.failure, commits.failure]);
    expect(await names()).toEqual(['kept']);
    commits.failure = undefined;
  });
});

describe('transactions at the same moment', () => {
  it('reach the disk with one commit, and later ones with another', async () => {
    const { db, commits, names, insert } = await counted();
    await Promise.all(['a', 'b', 'c'].map((name) => inTransaction(db, name)));
    expect(commits.count).toBe(1);
    await Promise.all([insert('d').execute(), inTransaction(db, 'e')]);
    expect(commits.count).toBe(2);
    expect(await names()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('do not see changes that are rolled back, and are not rolled back with them', async () => {
    const { db, commits, names } = await counted();
    const fails = db.transaction().execute(async (trx) => {
      await trx.insertInto('settings').values({ name: 'gone', value: '' }).execute();
      throw new Error('taken back');
    });
    const [first, failed, last] = await Promise.allSettled([inTransaction(db, 'a'), fails, inTransaction(db, 'b')]);
    expect([first.status, failed.status, last.status]).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(last).toMatchObject({ value: [{ name: 'a' }, { name: 'b' }] });
    expect(await names()).toEqual(['a', 'b']);
    expect(commits.count).toBe(1);
  });

  it('resolve only when they are on the disk, and so do reads of what they wrote', async () => {
    const { db, commits, names } = await counted();
    const seen: [string, number][] = [];
    const note = (what: string) => () => void seen.push([what, commits.count]);
    await Promise.all([inTransaction(db, 'a').then(note('written')), names().then(note('read'))]);
    expect(seen.map(([, count]) => count)).toEqual([1, 1]);
  });

  it('fail together when their commit fails, and reads that saw their changes are repeated', async () => {
    const { db, commits, names, insert, changes } = await counted();
    await insert('before').execute();
    commits.failure = new Error('no space left');
    const before = changes.versionOf(['settings']);
    const [read, ...writes] = await Promise.allSettled([
      names(),
      inTransaction(db, 'a'),
      insert('b').execute(),
      names(),
      inTransaction(db, 'c'),
    ]);
    const [reread] = writes.splice(2, 1);
    for (const outcome of [read, reread]) expect(outcome).toEqual({ status: 'fulfilled', value: ['before'] });
    for (const outcome of writes) expect(outcome).toMatchObject({ status: 'rejected', reason: commits.failure });
    commits.failure = undefined;
    expect(await names()).toEqual(['before']);
    // Values that were cached from it are invalidated.
    expect(changes.versionOf(['settings'])).toBeGreaterThan(before + 3);
    await inTransaction(db, 'after');
    expect(await names()).toEqual(['after', 'before']);
  });

  it('do not continue after SQLite has rolled back their group', async () => {
    const { db, broken, names, commits } = await counted();
    broken.statement = 'insert into "settings" ("name", "value") values (?, ?) on conflict do nothing';
    const stubborn = async (trx: Queries) => {
      await trx.insertInto('settings').values({ name: 'one', value: '' }).execute();
      const full = trx.insertInto('settings').values({ name: 'two', value: '' });
      await full
        .onConflict((conflict) => conflict.doNothing())
        .execute()
        .catch(() => undefined);
      await trx.insertInto('settings').values({ name: 'three', value: '' }).execute();
    };
    const outcomes = await Promise.allSettled([inTransaction(db, 'a'), db.transaction().execute(stubborn), inTransaction(db, 'b')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
    expect(await names()).toEqual(['b']);
    expect(commits.count).toBe(1);
  });
});

describe('on the way to the disk', () => {
  it('writers learn nothing yet, others can continue, and later transactions are synced together', async () => {
    const { db, commits, disk, insert } = await counted();
    const [first, second] = [new Gate(), new Gate()];
    disk.syncs = 0;
    disk.sync = () => first.opened as Promise<undefined>;
    const reports: string[] = [];
    const note = (what: string) => () => void reports.push(what);
    const a = insert('a').execute().then(note('a'));
    await turns();
    expect([commits.count, disk.syncs]).toEqual([1, 1]);
    const later = [insert('b').execute().then(note('b')), inTransaction(db, 'c').then(note('c'))];
    await turns();
    later.push(insert('d').execute().then(note('d')));
    await turns();
    const read = db.selectFrom('settings').select('name').execute().then(note('read'));
    await turns();
    expect([commits.count, disk.syncs, reports]).toEqual([1, 1, []]);
    disk.sync = () => second.opened as Promise<undefined>;
    first.open();
    await a;
    await turns();
    expect([commits.count, disk.syncs, reports]).toEqual([2, 2, ['a']]);
    second.open();
    await Promise.all([...later, read]);
    expect([...reports].sort()).toEqual(['a', 'b', 'c', 'd', 'read']);
  });

  it('a single read waits until what it saw is on the disk', async () => {
    const { disk, insert, names } = await counted();
    const resumeGate = new Gate();
    disk.sync = () => resumeGate.opened as Promise<undefined>;
    const written = insert('a').execute();
    await turns();
    let settled = false;
    const read = names().finally(() => {
      settled = true;
    });
    await turns();
    expect(settled).toBe(false);
    resumeGate.open();
    expect(await read).toEqual(['a']);
    await written;
  });

  it('a transaction that is rolled back waits for what it saw', async () => {
    const { db, disk, insert } = await counted();
    const resumeGate = new Gate();
    disk.sync = () => resumeGate.opened as Promise<undefined>;
    const written = insert('a').execute();
    await turns();
    let hasRejected = false;
    const rejected = db.transaction().execute(async (trx) => {
      throw new Error(`found ${(await trx.selectFrom('settings').select('name').execute()).length}`);
    });
    void rejected.catch(() => {
      hasRejected = true;
    });
    await turns();
    expect(hasRejected).toBe(false);
    resumeGate.open();
    await expect(rejected).rejects.toThrow('found 1');
    await written;
  });

  it('a statement outside of transactions becomes durable after everything before it', async () => {
    const { db, disk, insert, names } = await counted();
    const first = new Gate();
    disk.sync = () => first.opened as Promise<undefined>;
    const written = insert('a').execute();
    await turns();
    disk.sync = async () => undefined;
    const done: string[] = [];
    const own = sql`pragma user_version`.execute(db).then(() => done.push('own'));
    const read = names().then(() => done.push('read'));
    await turns();
    expect(done).toEqual([]);
    first.open();
    await Promise.all([written, own, read]);
    expect(done.sort()).toEqual(['own', 'read']);
  });

  it('a failed sync fails everything until a restart, because the content of the disk is unknown', async () => {
    const { db, commits, disk, insert, names, changes } = await counted();
    const resumeGate = new Gate();
    disk.sync = () => resumeGate.opened.then(() => Promise.reject(new Error('EIO')));
    const before = changes.versionOf([]);
    const outcomes = Promise.allSettled([insert('a').execute(), inTransaction(db, 'b')]);
    await turns();
    // These gather in the meantime and are never committed.
    const later = Promise.allSettled([insert('c').execute(), names()]);
    await turns();
    resumeGate.open();
    for (const outcome of [...(await outcomes), ...(await later)])
      expect(outcome).toMatchObject({ status: 'rejected', reason: { message: expect.stringMatching(/restart the service/) } });
    expect(changes.versionOf([])).toBeGreaterThan(before);
    await turns();
    expect(commits.count).toBe(1);
    disk.sync = async () => undefined;
    const inUnit = db.atomically(async ({ store }) => inTransaction(store, 'e'));
    for (const refused of [names(), insert('d').execute(), inUnit]) await expect(refused).rejects.toThrow('did not keep');
  });
});

describe('a unit of work', () => {
  it('commits its transactions and single changes together', async () => {
    const { db, commits, names } = await counted();
    const result = await db.atomically(async ({ store }) => {
      await inTransaction(store, 'a');
      await store.insertInto('settings').values({ name: 'b', value: '' }).execute();
      expect(commits.count).toBe(0);
      return inTransaction(store, 'c');
    });
    expect(result.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    expect(commits.count).toBe(1);
    expect(await names()).toEqual(['a', 'b', 'c']);
  });

  it('leaves nothing behind when it is rejected, and does not affect simultaneous changes', async () => {
    const { db, names } = await counted();
    const failed = db.atomically(async ({ store }) => {
      await inTransaction(store, 'gone');
      throw new Error('taken back');
    });
    const other = inTransaction(db, 'other');
    await expect(failed).rejects.toThrow('taken back');
    expect(await other).toEqual([{ name: 'other' }]);
    expect(await names()).toEqual(['other']);
  });

  it('continues after one of its transactions was rolled back', async () => {
    const { db, names } = await counted();
    await db.atomically(async ({ store }) => {
      await inTransaction(store, 'a');
      const refused = store.transaction().execute(async (trx) => {
        await trx.insertInto('settings').values({ name: 'refused', value: '' }).execute();
        throw new Error('refused');
      });
      await expect(refused).rejects.toThrow('refused');
      await inTransaction(store, 'b');
    });
    expect(await names()).toEqual(['a', 'b']);
  });

  it('executes overlapping transactions one after the other', async () => {
    const { db, names } = await counted();
    await db.atomically(async ({ store }) => {
      const resumeGate = new Gate();
      const slow = store.transaction().execute(async (trx) => {
        await trx.insertInto('settings').values({ name: 'slow', value: '' }).execute();
        await resumeGate.opened;
        throw new Error('refused');
      });
      const quick = inTransaction(store, 'quick');
      resumeGate.open();
      await expect(slow).rejects.toThrow('refused');
      expect(await quick).toEqual([{ name: 'quick' }]);
    });
    expect(await names()).toEqual(['quick']);
  });

  it('lets others write until it has changed something', async () => {
    const { db, names } = await counted();
    await db.atomically(async ({ store }) => {
      expect(await store.selectFrom('settings').select('name').execute()).toEqual([]);
      await inTransaction(db, 'other');
      await inTransaction(store, 'own');
    });
    expect(await names()).toEqual(['other', 'own']);
  });

  it('resolves, and has its effects, only when it is on the disk', async () => {
    const { db, disk } = await counted();
    const resumeGate = new Gate();
    disk.sync = () => resumeGate.opened as Promise<undefined>;
    const seen: string[] = [];
    const done = db
      .atomically(async ({ store, afterCommit }) => {
        await inTransaction(store, 'a');
        afterCommit(() => void seen.push('effect'));
      })
      .then(() => void seen.push('resolved'));
    await turns();
    expect(seen).toEqual([]);
    resumeGate.open();
    await done;
    expect(seen).toEqual(['effect', 'resolved']);
  });

  it('rejects without effects when it cannot be committed', async () => {
    const { db, commits, names } = await counted();
    commits.failure = new Error('no space left');
    let effects = 0;
    const failed = db.atomically(async ({ store, afterCommit }) => {
      afterCommit(() => void effects++);
      await inTransaction(store, 'a');
    });
    await expect(failed).rejects.toBe(commits.failure);
    commits.failure = undefined;
    expect([effects, await names()]).toEqual([0, []]);
  });

  it.each(['work', 'commit'])('undoes its effects, latest first, before it rejects because its %s fails', async (failing) => {
    const { db, commits } = await counted();
    const failure = new Error('no space left');
    const steps: string[] = [];
    const undo = (step: string) => async () => {
      await turns();
      steps.push(step);
    };
    const failed = db.atomically(async ({ store, onRollback }) => {
      await inTransaction(store, 'a');
      onRollback(undo('first'));
      await store.atomically(async (part) => part.onRollback(undo('second')));
      if (failing === 'work') throw failure;
      commits.failure = failure;
    });
    await expect(failed.finally(() => steps.push('rejected'))).rejects.toBe(failure);
    expect(steps).toEqual(['second', 'first', 'rejected']);
  });

  it('undoes nothing if it is committed', async () => {
    const { db } = await counted();
    let undone = 0;
    await db.atomically(async ({ store, onRollback }) => {
      onRollback(async () => void undone++);
      await inTransaction(store, 'a');
    });
    expect(undone).toBe(0);
  });

  it('is not affected when a later commit fails', async () => {
    const { db, commits, disk, names } = await counted();
    const resumeGate = new Gate();
    disk.sync = () => resumeGate.opened as Promise<undefined>;
    const first = db.atomically(({ store }) => inTransaction(store, 'first'));
    await turns();
    commits.failure = new Error('no space left');
    const second = db.atomically(({ store }) => inTransaction(store, 'second')).catch((error: unknown) => error);
    await turns();
    resumeGate.open();
    expect(await first).toEqual([{ name: 'first' }]);
    expect(await second).toBe(commits.failure);
    commits.failure = undefined;
    expect(await names()).toEqual(['first']);
  });

  it('fails as a whole when SQLite has rolled its changes back', async () => {
    const { db, broken, names } = await counted();
    broken.statement = 'insert into "settings" ("name", "value") values (?, ?) on conflict do nothing';
    const failed = db.atomically(async ({ store }) => {
      await inTransaction(store, 'one');
      const full = store.insertInto('settings').values({ name: 'two', value: '' });
      await full
        .onConflict((conflict) => conflict.doNothing())
        .execute()
        .catch(() => undefined);
      await inTransaction(store, 'three').catch(() => undefined);
    });
    await expect(failed).rejects.toThrow('full');
    expect(await names()).toEqual([]);
  });

  it('cannot be used after it has ended', async () => {
    const { db, names } = await counted();
    const store = await db.atomically(async (unit) => unit.store);
    await expect(inTransaction(store, 'late')).rejects.toThrow('has ended');
    expect(await names()).toEqual([]);
  });

  it('is part of the unit that it is nested in', async () => {
    const { db, commits, names } = await counted();
    const failed = db.atomically(async ({ store }) => {
      await store.atomically((inner) => inTransaction(inner.store, 'a'));
      throw new Error('taken back');
    });
    await expect(failed).rejects.toThrow('taken back');
    expect([commits.count, await names()]).toEqual([0, []]);
  });
});

it('a statement that SQLite allows only outside of transactions waits for open ones', async () => {
  const { db, names } = await counted();
  const directory = await temporaryDirectory();
  await Promise.all([inTransaction(db, 'a'), sql`vacuum into ${`${directory}/copy.db`}`.execute(db), inTransaction(db, 'b')]);
  const copy = new Libsql(`${directory}/copy.db`);
  expect(copy.prepare('select name from settings').all()).toEqual([{ name: 'a' }]);
  copy.close();
  expect(await names()).toEqual(['a', 'b']);
});

it('closing a database completes the writes in progress', async () => {
  const { db } = await counted();
  const written = inTransaction(db, 'a');
  await new Promise((resolve) => process.nextTick(resolve));
  await db.destroy();
  await written;
});
