/**
 * A database of the service for the minimal servers of the benchmark, with the same durability: changes that arrive at the same moment
 * are one commit, which is synced before any of them is acknowledged.
 */
import { open } from 'node:fs/promises';
import Libsql from 'libsql';

export class FloorDatabase {
  #database;
  #log;
  #begin;
  #commit;
  /** The changes that will be committed together. */
  #group;
  #sync = Promise.resolve();

  /** Opens the database with the settings of the service (src/service/store/database/sqlite/open.ts). */
  static async open(file) {
    const floor = new FloorDatabase();
    const database = new Libsql(file);
    for (const setting of [
      'locking_mode=EXCLUSIVE',
      'journal_mode=WAL',
      'synchronous=NORMAL',
      'wal_autocheckpoint=4000',
      'foreign_keys=ON',
    ])
      database.pragma(setting);
    database.exec('begin immediate; commit');
    floor.#database = database;
    floor.#begin = database.prepare('begin immediate');
    floor.#commit = database.prepare('commit');
    floor.#log = await open(`${file}-wal`, 'r+');
    return floor;
  }

  /** A function that executes a change. */
  change(sql) {
    const statement = this.#database.prepare(sql);
    return (...values) => statement.run(values);
  }

  /** A function that returns the first row of a query as an object. libsql creates arrays in half the time. */
  first(sql) {
    const statement = this.#database.prepare(sql).raw(true);
    const names = statement.columns().map(({ name }) => name);
    return (...values) => {
      const row = statement.get(values);
      if (row === undefined) return undefined;
      const object = {};
      for (const [index, name] of names.entries()) object[name] = row[index];
      return object;
    };
  }

  /** A function that returns the rows of a query as JSON, each as an array: the fastest way to get many rows from libsql. */
  rows(sql) {
    const columns = this.#database
      .prepare(sql)
      .columns()
      .map((_, index) => `c${index}`);
    const statement = this.#database.prepare(`with page(${columns}) as (${sql}) select json_group_array(json_array(${columns})) from page`);
    statement.raw(true);
    return (...values) => statement.get(values)[0];
  }

  /** Executes the changes of `work`, which must not wait. Resolves with its result when they are on the disk. */
  async write(work) {
    this.#group ??= this.#newGroup();
    const { durable } = this.#group;
    const result = work();
    await durable;
    return result;
  }

  /** Closes the database, when nothing is being written. */
  async close() {
    await this.#sync;
    await this.#log.close();
    this.#database.close();
  }

  #newGroup() {
    this.#begin.run([]);
    const group = {};
    group.durable = new Promise((resolve, reject) => {
      // Everything that has arrived by now can join, and the disk takes one group at a time.
      setImmediate(() => this.#sync.then(() => this.#flush()).then(resolve, reject));
    });
    return group;
  }

  #flush() {
    this.#commit.run([]);
    this.#group = undefined;
    this.#sync = this.#log.datasync();
    return this.#sync;
  }
}
