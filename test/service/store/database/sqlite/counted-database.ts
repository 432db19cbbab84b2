/** A database whose commits and syncs are counted, and fail on request. */
import { type Kysely, sql } from 'kysely';
import Libsql, { type Statement } from 'libsql';
import type { Database } from '../../../../../src/service/store/database/schema.ts';
import { LibsqlDialect } from '../../../../../src/service/store/database/sqlite/dialect.ts';
import { storeOf } from '../../../../../src/service/store/database/sqlite/open.ts';
import { afterTest, temporaryDirectory } from '../../../../support/temporary.ts';

/** A database that counts its commits, which fail on request. */
export async function openCounted() {
  const file = `${await temporaryDirectory()}/test.db`;
  const real = new Libsql(file);
  const commits = { count: 0, failure: undefined as Error | undefined };
  const fault = { statement: undefined as string | undefined };
  const prepare = (text: string): Statement => {
    const statement = real.prepare(text);
    if (text === 'commit')
      return {
        run() {
          const { failure } = commits;
          if (failure !== undefined) throw failure;
          statement.run([]);
          commits.count += 1;
        },
      } as unknown as Statement;
    const run = statement.run.bind(statement);
    statement.run = (...values: never[]) => {
      if (text !== fault.statement) return run(...values);
      // As SQLite does when the disk is full.
      real.exec('rollback');
      throw new Error('full');
    };
    return statement;
  };
  const watchedDatabase = new Proxy(real, {
    get(target, name) {
      if (name === 'prepare') return prepare;
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const disk = { syncs: 0, isClosed: false, sync: async () => undefined as undefined };
  const dialect = new LibsqlDialect(watchedDatabase, {
    sync: () => {
      disk.syncs += 1;
      return disk.sync();
    },
    close: async () => {
      disk.isClosed = true;
    },
  });
  const db = storeOf(dialect);
  afterTest(() => db.destroy());
  await sql`create table settings (name text primary key, value text not null)`.execute(db);
  const names = async () => (await db.selectFrom('settings').select('name').orderBy('name').execute()).map(({ name }) => name);
  const insert = (name: string) => db.insertInto('settings').values({ name, value: '' });
  /** The names in the database itself, whether they are durable or not. */
  const storedNames = () => (real.prepare('select name from settings order by name').all() as { name: string }[]).map(({ name }) => name);
  /** The same once the database is closed. */
  const keptNames = () => {
    const reopened = new Libsql(file);
    const rows = reopened.prepare('select name from settings order by name').all() as { name: string }[];
    reopened.close();
    return rows.map(({ name }) => name);
  };
  return { database: watchedDatabase, storedNames, keptNames, db, commits, disk, fault, names, insert, changes: dialect.changes };
}

/** Inserts a row in a transaction, and returns all rows. */
export const inTransaction = (db: Kysely<Database>, name: string) =>
  db.transaction().execute(async (trx) => {
    await trx.insertInto('settings').values({ name, value: '' }).execute();
    return trx.selectFrom('settings').select('name').execute();
  });

/** Lets everything proceed that waits for nothing but the event loop. */
export const turns = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
};
