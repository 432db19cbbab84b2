/** Kysely's SQLite dialect over libsql, with corrections to the standard dialect. */

import { type Driver, SqliteAdapter, SqliteDialect } from 'kysely';
import type { Database as LibsqlDatabase } from 'libsql';
import { Changes } from '../changes.ts';
import { storeDriver, UnitTransaction } from './drivers.ts';
import { GroupCommit } from './group-commit.ts';
import type { WriteAheadLog } from './write-ahead-log.ts';

/** The standard adapter denies transactional DDL; a migration that failed half-way would leave unrecorded tables behind. */
class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** SQLite with our own driver. */
class DriverDialect extends SqliteDialect {
  readonly #driver: () => Driver;

  constructor(driver: () => Driver) {
    super({ database: async () => Promise.reject(new Error('The driver has the database.')) });
    this.#driver = driver;
  }

  override createDriver(): Driver {
    return this.#driver();
  }

  override createAdapter(): SqliteAdapter {
    return new TransactionalSqliteAdapter();
  }
}

/** A dialect for one open libsql database. */
export class LibsqlDialect extends DriverDialect {
  readonly #commits: GroupCommit;
  readonly changes: Changes;

  /** @param log syncs what SQLite has committed, where SQLite does not do so itself */
  constructor(database: LibsqlDatabase, log: Pick<WriteAheadLog, 'sync' | 'close'> = syncedBySqlite) {
    const changes = new Changes();
    const close = async (): Promise<void> => {
      await log.close();
      closeAndUnlock(database);
    };
    const commits = new GroupCommit(database, { changes, sync: () => log.sync(), close });
    super(() => storeDriver(commits));
    this.changes = changes;
    this.#commits = commits;
  }

  /** A unit of work on the same database, and the dialect to reach it. */
  unit(): { transaction: UnitTransaction; dialect: SqliteDialect } {
    const transaction = new UnitTransaction(this.#commits);
    return { transaction, dialect: new DriverDialect(() => transaction.driver()) };
  }
}

const syncedBySqlite = { sync: async () => undefined, close: async () => undefined };

/**
 * libsql keeps the file, and with it the lock, until the last statement is garbage-collected. Leaving the write-ahead log and
 * exclusive locking, in this order because SQLite allows no other, frees the lock immediately for the next process.
 */
function closeAndUnlock(database: LibsqlDatabase): void {
  try {
    database.pragma('journal_mode=DELETE');
    database.pragma('locking_mode=NORMAL');
    // The mode takes effect with the next access.
    database.prepare('select count(*) from sqlite_master').all();
  } catch {
    // In the middle of a transaction, or on a full disk: the lock then lasts as long as the process.
  }
  database.close();
}
