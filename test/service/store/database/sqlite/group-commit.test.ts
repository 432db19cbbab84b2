/** Transactions that reach the disk together: when each of them resolves or rejects. */
import { sql } from 'kysely';
import Libsql from 'libsql';
import { describe, expect, it } from 'vitest';
import type { Queries } from '../../../../../src/service/store/database/database.ts';
import { temporaryDirectory } from '../../../../support/temporary.ts';
import { Gate } from '../../../helpers/runtime.ts';
import { inTransaction, openCounted, turns } from './counted-database.ts';

describe('a full disk', () => {
  it('does not prevent reads of existing data', async () => {
    const { db, commits, names, insert } = await openCounted();
    await insert('kept').execute();
    commits.failure = new Error('no space left');
    const lostWrites = [insert('a').execute(), inTransaction(db, 'b')].map((promise) => promise.catch((error: unknown) => error));
    // It reads at the same moment, so it sees the uncommitted changes first.
    expect(await names()).toEqual(['kept']);
    expect(await Promise.all(lostWrites)).toEqual([commits.failure, commits.failure]);
    expect(await names()).toEqual(['kept']);
    commits.failure = undefined;
  });
});

describe('transactions at the same moment', () => {
  it('reach the disk with one commit, and later ones with another', async () => {
    const { db, commits, names, insert } = await openCounted();
    await Promise.all(['a', 'b', 'c'].map((name) => inTransaction(db, name)));
    expect(commits.count).toBe(1);
    await Promise.all([insert('d').execute(), inTransaction(db, 'e')]);
    expect(commits.count).toBe(2);
    expect(await names()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('do not see changes that are rolled back, and are not rolled back with them', async () => {
    const { db, commits, names } = await openCounted();
    const failingTransaction = db.transaction().execute(async (trx) => {
      await trx.insertInto('settings').values({ name: 'gone', value: '' }).execute();
      throw new Error('taken back');
    });
    const [first, failure, last] = await Promise.allSettled([inTransaction(db, 'a'), failingTransaction, inTransaction(db, 'b')]);
    expect([first.status, failure.status, last.status]).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(last).toMatchObject({ value: [{ name: 'a' }, { name: 'b' }] });
    expect(await names()).toEqual(['a', 'b']);
    expect(commits.count).toBe(1);
  });

  it('resolve only when they are on the disk, and so do reads of what they wrote', async () => {
    const { db, commits, names } = await openCounted();
    const observations: [string, number][] = [];
    const note = (label: string) => () => void observations.push([label, commits.count]);
    await Promise.all([inTransaction(db, 'a').then(note('written')), names().then(note('read'))]);
    expect(observations.map(([, count]) => count)).toEqual([1, 1]);
  });

  it('fail together when their commit fails, and reads that saw their changes are repeated', async () => {
    const { db, commits, names, insert, changes } = await openCounted();
    await insert('before').execute();
    commits.failure = new Error('no space left');
    const before = changes.versionOf(['settings']);
    const [readResult, ...writes] = await Promise.allSettled([
      names(),
      inTransaction(db, 'a'),
      insert('b').execute(),
      names(),
      inTransaction(db, 'c'),
    ]);
    const [reread] = writes.splice(2, 1);
    for (const outcome of [readResult, reread]) expect(outcome).toEqual({ status: 'fulfilled', value: ['before'] });
    for (const outcome of writes) expect(outcome).toMatchObject({ status: 'rejected', reason: commits.failure });
    commits.failure = undefined;
    expect(await names()).toEqual(['before']);
    // Values that were cached from it are invalidated.
    expect(changes.versionOf(['settings'])).toBeGreaterThan(before + 3);
    await inTransaction(db, 'after');
    expect(await names()).toEqual(['after', 'before']);
  });

  it('do not continue after SQLite has rolled back their group', async () => {
    const { db, fault, names, commits } = await openCounted();
    fault.statement = 'insert into "settings" ("name", "value") values (?, ?) on conflict do nothing';
    const keepWriting = async (trx: Queries) => {
      await trx.insertInto('settings').values({ name: 'one', value: '' }).execute();
      const failingInsert = trx.insertInto('settings').values({ name: 'two', value: '' });
      await failingInsert
        .onConflict((conflict) => conflict.doNothing())
        .execute()
        .catch(() => undefined);
      await trx.insertInto('settings').values({ name: 'three', value: '' }).execute();
    };
    const outcomes = await Promise.allSettled([inTransaction(db, 'a'), db.transaction().execute(keepWriting), inTransaction(db, 'b')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
    expect(await names()).toEqual(['b']);
    expect(commits.count).toBe(1);
  });
});

describe('on the way to the disk', () => {
  it('writers learn nothing yet, others can continue, and later transactions are synced together', async () => {
    const { db, commits, disk, insert } = await openCounted();
    const [first, second] = [new Gate(), new Gate()];
    disk.syncs = 0;
    disk.sync = () => first.opened as Promise<undefined>;
    const reports: string[] = [];
    const note = (label: string) => () => void reports.push(label);
    const a = insert('a').execute().then(note('a'));
    await turns();
    expect([commits.count, disk.syncs]).toEqual([1, 1]);
    const laterWrites = [insert('b').execute().then(note('b')), inTransaction(db, 'c').then(note('c'))];
    await turns();
    laterWrites.push(insert('d').execute().then(note('d')));
    await turns();
    const pendingRead = db.selectFrom('settings').select('name').execute().then(note('read'));
    await turns();
    expect([commits.count, disk.syncs, reports]).toEqual([1, 1, []]);
    disk.sync = () => second.opened as Promise<undefined>;
    first.open();
    await a;
    await turns();
    expect([commits.count, disk.syncs, reports]).toEqual([2, 2, ['a']]);
    second.open();
    await Promise.all([...laterWrites, pendingRead]);
    expect([...reports].sort()).toEqual(['a', 'b', 'c', 'd', 'read']);
  });

  it('a single read waits until what it saw is on the disk', async () => {
    const { disk, insert, names } = await openCounted();
    const resumeGate = new Gate();
    disk.sync = () => resumeGate.opened as Promise<undefined>;
    const pendingWrite = insert('a').execute();
    await turns();
    let isSettled = false;
    const pendingRead = names().finally(() => {
      isSettled = true;
    });
    await turns();
    expect(isSettled).toBe(false);
    resumeGate.open();
    expect(await pendingRead).toEqual(['a']);
    await pendingWrite;
  });

  it('a transaction that is rolled back waits for what it saw', async () => {
    const { db, disk, insert } = await openCounted();
    const resumeGate = new Gate();
    disk.sync = () => resumeGate.opened as Promise<undefined>;
    const pendingWrite = insert('a').execute();
    await turns();
    let hasRejected = false;
    const rejection = db.transaction().execute(async (trx) => {
      throw new Error(`found ${(await trx.selectFrom('settings').select('name').execute()).length}`);
    });
    void rejection.catch(() => {
      hasRejected = true;
    });
    await turns();
    expect(hasRejected).toBe(false);
    resumeGate.open();
    await expect(rejection).rejects.toThrow('found 1');
    await pendingWrite;
  });

  it('a statement outside of transactions becomes durable after everything before it', async () => {
    const { db, disk, insert, names } = await openCounted();
    const first = new Gate();
    disk.sync = () => first.opened as Promise<undefined>;
    const pendingWrite = insert('a').execute();
    await turns();
    disk.sync = async () => undefined;
    const completions: string[] = [];
    const ownQuery = sql`pragma user_version`.execute(db).then(() => completions.push('own'));
    const pendingRead = names().then(() => completions.push('read'));
    await turns();
    expect(completions).toEqual([]);
    first.open();
    await Promise.all([pendingWrite, ownQuery, pendingRead]);
    expect(completions.sort()).toEqual(['own', 'read']);
  });

  it('a failed sync fails everything until a restart, because the content of the disk is unknown', async () => {
    const { db, commits, disk, insert, names, changes } = await openCounted();
    const resumeGate = new Gate();
    disk.sync = () => resumeGate.opened.then(() => Promise.reject(new Error('EIO')));
    const before = changes.versionOf([]);
    const outcomes = Promise.allSettled([insert('a').execute(), inTransaction(db, 'b')]);
    await turns();
    // These gather in the meantime and are never committed.
    const laterResults = Promise.allSettled([insert('c').execute(), names()]);
    await turns();
    resumeGate.open();
    for (const outcome of [...(await outcomes), ...(await laterResults)])
      expect(outcome).toMatchObject({ status: 'rejected', reason: { message: expect.stringMatching(/restart the service/) } });
    expect(changes.versionOf([])).toBeGreaterThan(before);
    await turns();
    expect(commits.count).toBe(1);
    disk.sync = async () => undefined;
    const inUnit = db.atomically(async ({ store }) => inTransaction(store, 'e'));
    for (const pendingCall of [names(), insert('d').execute(), inUnit]) await expect(pendingCall).rejects.toThrow('did not keep');
  });
});

describe('a unit of work', () => {
  it('commits its transactions and single changes together', async () => {
    const { db, commits, names } = await openCounted();
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
    const { db, names } = await openCounted();
    const failure = db.atomically(async ({ store }) => {
      await inTransaction(store, 'gone');
      throw new Error('taken back');
    });
    const otherTransaction = inTransaction(db, 'other');
    await expect(failure).rejects.toThrow('taken back');
    expect(await otherTransaction).toEqual([{ name: 'other' }]);
    expect(await names()).toEqual(['other']);
  });

  it('continues after one of its transactions was rolled back', async () => {
    const { db, names } = await openCounted();
    await db.atomically(async ({ store }) => {
      await inTransaction(store, 'a');
      const refusal = store.transaction().execute(async (trx) => {
        await trx.insertInto('settings').values({ name: 'refused', value: '' }).execute();
        throw new Error('refused');
      });
      await expect(refusal).rejects.toThrow('refused');
      await inTransaction(store, 'b');
    });
    expect(await names()).toEqual(['a', 'b']);
  });

  it('continues after its first transaction was rolled back, and can still be rolled back as a whole', async () => {
    const { db, names } = await openCounted();
    const refuseFirst = async (store: typeof db): Promise<void> => {
      const refusal = store.transaction().execute(async (trx) => {
        await trx.insertInto('settings').values({ name: 'refused', value: '' }).execute();
        throw new Error('refused');
      });
      await expect(refusal).rejects.toThrow('refused');
    };
    await inTransaction(db, 'before');
    await db.atomically(async ({ store }) => {
      await refuseFirst(store);
      await inTransaction(store, 'a');
      await store.insertInto('settings').values({ name: 'b', value: '' }).execute();
    });
    expect(await names()).toEqual(['a', 'b', 'before']);
    const failure = db.atomically(async ({ store }) => {
      await refuseFirst(store);
      await inTransaction(store, 'gone');
      throw new Error('taken back');
    });
    await expect(failure).rejects.toThrow('taken back');
    expect(await names()).toEqual(['a', 'b', 'before']);
  });

  it('executes overlapping transactions one after the other', async () => {
    const { db, names } = await openCounted();
    await db.atomically(async ({ store }) => {
      const resumeGate = new Gate();
      const slowTransaction = store.transaction().execute(async (trx) => {
        await trx.insertInto('settings').values({ name: 'slow', value: '' }).execute();
        await resumeGate.opened;
        throw new Error('refused');
      });
      const quickTransaction = inTransaction(store, 'quick');
      resumeGate.open();
      await expect(slowTransaction).rejects.toThrow('refused');
      expect(await quickTransaction).toEqual([{ name: 'quick' }]);
    });
    expect(await names()).toEqual(['quick']);
  });

  it('lets others write until it has changed something', async () => {
    const { db, names } = await openCounted();
    await db.atomically(async ({ store }) => {
      expect(await store.selectFrom('settings').select('name').execute()).toEqual([]);
      await inTransaction(db, 'other');
      await inTransaction(store, 'own');
    });
    expect(await names()).toEqual(['other', 'own']);
  });

  it('resolves, and has its effects, only when it is on the disk', async () => {
    const { db, disk } = await openCounted();
    const resumeGate = new Gate();
    disk.sync = () => resumeGate.opened as Promise<undefined>;
    const observations: string[] = [];
    const completion = db
      .atomically(async ({ store, afterCommit }) => {
        await inTransaction(store, 'a');
        afterCommit(() => void observations.push('effect'));
      })
      .then(() => void observations.push('resolved'));
    await turns();
    expect(observations).toEqual([]);
    resumeGate.open();
    await completion;
    expect(observations).toEqual(['effect', 'resolved']);
  });

  it('rejects without effects when it cannot be committed', async () => {
    const { db, commits, names } = await openCounted();
    commits.failure = new Error('no space left');
    let effects = 0;
    const failure = db.atomically(async ({ store, afterCommit }) => {
      afterCommit(() => void effects++);
      await inTransaction(store, 'a');
    });
    await expect(failure).rejects.toBe(commits.failure);
    commits.failure = undefined;
    expect([effects, await names()]).toEqual([0, []]);
  });

  it.each(['work', 'commit'])('undoes its effects, latest first, before it rejects because its %s fails', async (failing) => {
    const { db, commits } = await openCounted();
    const failure = new Error('no space left');
    const steps: string[] = [];
    const undo = (step: string) => async () => {
      await turns();
      steps.push(step);
    };
    const failurePromise = db.atomically(async ({ store, onRollback }) => {
      await inTransaction(store, 'a');
      onRollback(undo('first'));
      await store.atomically(async (part) => part.onRollback(undo('second')));
      if (failing === 'work') throw failure;
      commits.failure = failure;
    });
    await expect(failurePromise.finally(() => steps.push('rejected'))).rejects.toBe(failure);
    expect(steps).toEqual(['second', 'first', 'rejected']);
  });

  it('undoes nothing if it is committed', async () => {
    const { db } = await openCounted();
    let undone = 0;
    await db.atomically(async ({ store, onRollback }) => {
      onRollback(async () => void undone++);
      await inTransaction(store, 'a');
    });
    expect(undone).toBe(0);
  });

  it('is not affected when a later commit fails', async () => {
    const { db, commits, disk, names } = await openCounted();
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
    const { db, fault, names } = await openCounted();
    fault.statement = 'insert into "settings" ("name", "value") values (?, ?) on conflict do nothing';
    const failure = db.atomically(async ({ store }) => {
      await inTransaction(store, 'one');
      const failingInsert = store.insertInto('settings').values({ name: 'two', value: '' });
      await failingInsert
        .onConflict((conflict) => conflict.doNothing())
        .execute()
        .catch(() => undefined);
      await inTransaction(store, 'three').catch(() => undefined);
    });
    await expect(failure).rejects.toThrow('full');
    expect(await names()).toEqual([]);
  });

  it('cannot be used after it has ended', async () => {
    const { db, names } = await openCounted();
    const store = await db.atomically(async (unit) => unit.store);
    await expect(inTransaction(store, 'late')).rejects.toThrow('has ended');
    expect(await names()).toEqual([]);
  });

  it('is part of the unit that it is nested in', async () => {
    const { db, commits, names } = await openCounted();
    const failure = db.atomically(async ({ store }) => {
      await store.atomically((inner) => inTransaction(inner.store, 'a'));
      throw new Error('taken back');
    });
    await expect(failure).rejects.toThrow('taken back');
    expect([commits.count, await names()]).toEqual([0, []]);
  });
});

it('a statement that SQLite allows only outside of transactions waits for open ones', async () => {
  const { db, names } = await openCounted();
  const directory = await temporaryDirectory();
  await Promise.all([inTransaction(db, 'a'), sql`vacuum into ${`${directory}/copy.db`}`.execute(db), inTransaction(db, 'b')]);
  const copy = new Libsql(`${directory}/copy.db`);
  expect(copy.prepare('select name from settings').all()).toEqual([{ name: 'a' }]);
  copy.close();
  expect(await names()).toEqual(['a', 'b']);
});

it('closing a database completes the writes in progress', async () => {
  const { db } = await openCounted();
  const pendingWrite = inTransaction(db, 'a');
  await new Promise((resolve) => process.nextTick(resolve));
  await db.destroy();
  await pendingWrite;
});
