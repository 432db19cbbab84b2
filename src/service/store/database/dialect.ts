/** Kysely's SQLite dialect over libsql, with what the stock one gets wrong put right. */

import { type Dialect, type Driver, SqliteAdapter, SqliteDialect } from 'kysely';
import type { Database as LibsqlDatabase } from 'libsql';
import { Changes } from './changes.ts';
import { type Durability, GroupCommit } from './group-commit.ts';
import type { WriteAheadLog } from './write-ahead-log.ts';

/** The stock adapter declares none, and a migration that fails half-way would leave its tables behind, unrecorded. */
class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** A dialect for one open libsql database. */
export class LibsqlDialect extends SqliteDialect {
  readonly #driver: () => Driver;
  readonly changes: Changes;
  readonly durability: Durability;
  /** The same database, told of at once (see `Durability`). */
  readonly early: Dialect;

  /** @param log syncs what SQLite has committed to the disk, where SQLite leaves that to others */
  constructor(database: LibsqlDatabase, log: Pick<WriteAheadLog, 'sync' | 'close'> = syncedBySqlite) {
    super(notUsed);
    this.changes = new Changes();
    const close = async (): Promise<void> => {
      await log.close();
      closeAndUnlock(database);
    };
    const commits = new GroupCommit(database, { changes: this.changes, sync: () => log.sync(), close });
    this.durability = commits;
    this.#driver = () => commits.driver({ waits: true });
    this.early = new EarlyDialect(() => commits.driver({ waits: false }));
  }

  override createDriver(): Driver {
    return this.#driver();
  }

  override createAdapter(): SqliteAdapter {
    return new TransactionalSqliteAdapter();
  }
}

class EarlyDialect extends SqliteDialect {
  readonly #driver: () => Driver;

  constructor(driver: () => Driver) {
    super(notUsed);
    this.#driver = driver;
  }

  override createDriver(): Driver {
    return this.#driver();
  }
}

const syncedBySqlite = { sync: async () => undefined, close: async () => undefined };

const notUsed = { database: async () => Promise.reject(new Error('The driver has the database.')) };

/**
 * libsql keeps the file, and with it the lock, until the last statement is garbage-collected. Leaving the write-ahead log and
 * exclusive locking (in this order, SQLite allows no other) frees it at once, for whoever opens the directory next.
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
