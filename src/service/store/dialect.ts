/** Kysely's SQLite dialect over libsql, with what the stock one gets wrong put right. */

import { type Driver, SqliteAdapter, SqliteDialect } from 'kysely';
import type { Database as LibsqlDatabase } from 'libsql';
import { Changes } from './changes.ts';
import { GroupCommitDriver } from './group-commit.ts';

/** The stock adapter declares none, and a migration that fails half-way would leave its tables behind, unrecorded. */
class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** A dialect for one open libsql database. */
export class LibsqlDialect extends SqliteDialect {
  readonly changes = new Changes();
  readonly #database: LibsqlDatabase;

  constructor(database: LibsqlDatabase) {
    super({ database: async () => Promise.reject(new Error('The driver has the database.')) });
    this.#database = database;
  }

  override createDriver(): Driver {
    return new GroupCommitDriver(this.#database, { changes: this.changes, close: () => closeAndUnlock(this.#database) });
  }

  override createAdapter(): SqliteAdapter {
    return new TransactionalSqliteAdapter();
  }
}

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
