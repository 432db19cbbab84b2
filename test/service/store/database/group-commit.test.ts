/** Transactions that reach the disk together: what each of them is told, and when. */
import { Kysely, sql } from 'kysely';
import Libsql, { type Statement } from 'libsql';
import { describe, expect, it } from 'vitest';
import type { Queries } from '../../../../src/service/store/database/database.ts';
import { LibsqlDialect } from '../../../../src/service/store/database/dialect.ts';
import type { Database } from '../../../../src/service/store/database/schema.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';
import { Gate } from '../../helpers/runtime.ts';

/** A database whose commits are counted, and fail on request. */
async function counted() {
  const file = `${await temporaryDirectory()}/test.db`;
  const real = new Libsql(file);
  const commits = { count: 0, failure: undefined as Error | undefined };
  const broken = { statement: undefined as string | undefined };
  const prepare = (text: string): Statement => {
    const statement = real.prepare(text);
    if (text === 'commit')
      return {
        run() {
          if (commits.failure) throw commits.failure;
          statement.run([]);
          commits.count += 1;
        },
      } as unknown as Statement;
    const run = statement.run.bind(statement);
    statement.run = (...values: never[]) => {
      if (text !== broken.statement) return run(...values);
      // As SQLite does when the disk is full.
      real.exec('rollback');
      throw new Error('full');
    };
    return statement;
  };
  const watched = new Proxy(real, {
    get(target, name) {
      if (name === 'prepare') return prepare;
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const disk = { syncs: 0, sync: async () => undefined as undefined };
  const dialect = new LibsqlDialect(watched, {
    sync: () => {
      disk.syncs += 1;
      return disk.sync();
    },
    close: async () => undefined,
  });
  const db = new Kysely<Database>({ dialect });
  afterTest(() => db.destroy());
  await sql`create table settings (name text primary key, value text not null)`.execute(db);
  const names = async () => (await db.selectFrom('settings').select('name').orderBy('name').execute()).map(({ name }) => name);
  const insert = (name: string) => db.insertInto('settings').values({ name, value: '' });
  const early = new Kysely<Database>({ dialect: dialect.early });
  return { db, commits, disk, broken, names, insert, early, changes: dialect.changes, durability: dialect.durability };
}

const inTransaction = (db: Kysely<Database>, name: string) =>
  db.transaction().execute(async (trx) => {
    await trx.insertInto('settings').values({ name, value: '' }).execute();
    return trx.selectFrom('settings').select('name').execute();
  });

describe('a full disk', () => {
  it('does not keep anybody from reading what is there', async () => {
    const { db, commits, names, insert } = await counted();
    await insert('kept').execute();
    commits.failure = new Error('no space left');
    const lost = [insert('a').execute(), inTransaction(db, 'b')].map((one) => one.catch((error: unknown) => error));
    // At the same moment, so that it sees what is being written.
    expect(await names()).toEqual(['kept']);
    expect(await Promise.all(lost)).toEqual([commits.failure, commits.failure]);
    expect(await names()).toEqual(['kept']);
    commits.failure = undefined;
  });
});

describe('transactions at the same moment', () => {
  it('reach the disk with one commit, and those after them with another', async () => {
    const { db, commits, names, insert } = await counted();
    await Promise.all(['a', 'b', 'c'].map((name) => inTransaction(db, name)));
    expect(commits.count).toBe(1);
    await Promise.all([insert('d').execute(), inTransaction(db, 'e')]);
    expect(commits.count).toBe(2);
    expect(await names()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('do not see what is taken back, and are not taken back with it', async () => {
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

  it('are done when they are on the disk and not before, and so is who reads what they wrote', async () => {
    const { db, commits, names } = await counted();
    const seen: [string, number][] = [];
    const note = (what: string) => () => void seen.push([what, commits.count]);
    await Promise.all([inTransaction(db, 'a').then(note('written')), names().then(note('read'))]);
    expect(seen.map(([, count]) => count)).toEqual([1, 1]);
  });

  it('fail together when the disk takes none of it, and whoever read of it reads again', async () => {
    const { db, commits, names, insert, changes } = await counted();
    await insert('before').execute();
    commits.failure = new Error('no space left');
    const before = changes.of(['settings']);
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
    // What somebody remembers of it is not to be trusted.
    expect(changes.of(['settings'])).toBeGreaterThan(before + 3);
    await inTransaction(db, 'after');
    expect(await names()).toEqual(['after', 'before']);
  });

  it('do not go on alone after SQLite has given up the one they are part of', async () => {
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

const turns = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
};

describe('on the way to the disk', () => {
  it('nobody is told, others go on, and the next gather to be synced together', async () => {
    const { db, commits, disk, insert, early } = await counted();
    const [first, second] = [new Gate(), new Gate()];
    disk.syncs = 0;
    disk.sync = () => first.opened as Promise<undefined>;
    const told: string[] = [];
    const note = (what: string) => () => void told.push(what);
    const a = insert('a').execute().then(note('a'));
    await turns();
    expect([commits.count, disk.syncs]).toEqual([1, 1]);
    const later = [insert('b').execute().then(note('b')), inTransaction(db, 'c').then(note('c'))];
    await turns();
    later.push(insert('d').execute().then(note('d')));
    await turns();
    expect(await early.selectFrom('settings').select('name').execute()).toHaveLength(4);
    const read = db.selectFrom('settings').select('name').execute().then(note('read'));
    await turns();
    expect([commits.count, disk.syncs, told]).toEqual([1, 1, []]);
    disk.sync = () => second.opened as Promise<undefined>;
    first.open();
    await a;
    await turns();
    expect([commits.count, disk.syncs, told]).toEqual([2, 2, ['a']]);
    second.open();
    await Promise.all([...later, read]);
    expect([...told].sort()).toEqual(['a', 'b', 'c', 'd', 'read']);
  });

  it('a read alone waits for what it saw', async () => {
    const { disk, insert, names } = await counted();
    const goOn = new Gate();
    disk.sync = () => goOn.opened as Promise<undefined>;
    const written = insert('a').execute();
    await turns();
    let told = false;
    const read = names().finally(() => {
      told = true;
    });
    await turns();
    expect(told).toBe(false);
    goOn.open();
    expect(await read).toEqual(['a']);
    await written;
  });

  it('what a disk did not keep ends everything: nobody knows what is there', async () => {
    const { db, disk, insert, names, early, durability, changes } = await counted();
    const goOn = new Gate();
    disk.sync = () => goOn.opened.then(() => Promise.reject(new Error('EIO')));
    const mark = durability.mark();
    const before = changes.of([]);
    const outcomes = Promise.allSettled([insert('a').execute(), inTransaction(db, 'b')]);
    await turns();
    // Gathered meanwhile, and never committed.
    const later = Promise.allSettled([insert('c').execute(), names()]);
    await turns();
    goOn.open();
    for (const outcome of [...(await outcomes), ...(await later)])
      expect(outcome).toMatchObject({ status: 'rejected', reason: { message: expect.stringMatching(/restart the service/) } });
    await expect(durability.settled(mark)).rejects.toThrow('did not keep');
    expect(changes.of([])).toBeGreaterThan(before);
    disk.sync = async () => undefined;
    for (const refused of [
      names(),
      insert('d').execute(),
      inTransaction(early, 'e'),
      early.selectFrom('settings').select('name').execute(),
    ])
      await expect(refused).rejects.toThrow('did not keep');
  });
});

describe('the early driver', () => {
  it('tells at once, and who waits for the disk is told then', async () => {
    const { db, commits, early, durability } = await counted();
    const mark = durability.mark();
    await inTransaction(early, 'a');
    expect(await early.selectFrom('settings').select('name').execute()).toEqual([{ name: 'a' }]);
    expect(commits.count).toBe(0);
    await durability.settled(mark);
    expect(commits.count).toBe(1);
    await durability.settled(mark);
    // The other driver shares the connection, and closes it.
    await early.destroy();
    expect(await db.selectFrom('settings').select('name').execute()).toEqual([{ name: 'a' }]);
  });

  it('knows what was lost since a mark', async () => {
    const { commits, early, durability } = await counted();
    const mark = durability.mark();
    commits.failure = new Error('no space left');
    await inTransaction(early, 'a');
    await expect(durability.settled(mark)).rejects.toBe(commits.failure);
    expect([durability.hasFailed(mark), durability.hasFailed(durability.mark())]).toEqual([true, false]);
    commits.failure = undefined;
    await inTransaction(early, 'b');
    // Also after another has reached the disk.
    await durability.settled(durability.mark());
    await expect(durability.settled(mark)).rejects.toThrow('no space left');
  });
});

it('what SQLite does outside of transactions alone waits for those that are open', async () => {
  const { db, names } = await counted();
  const directory = await temporaryDirectory();
  await Promise.all([inTransaction(db, 'a'), sql`vacuum into ${`${directory}/copy.db`}`.execute(db), inTransaction(db, 'b')]);
  const copy = new Libsql(`${directory}/copy.db`);
  expect(copy.prepare('select name from settings').all()).toEqual([{ name: 'a' }]);
  copy.close();
  expect(await names()).toEqual(['a', 'b']);
});

it('a closed database has what was written to it last', async () => {
  const { db } = await counted();
  const written = inTransaction(db, 'a');
  await new Promise((resolve) => process.nextTick(resolve));
  await db.destroy();
  await written;
});
