/** Kysely's SQLite dialect over libsql, with corrections to the standard dialect. */

import { type Driver, SqliteAdapter, SqliteDialect } from 'kysely';
import type { Database as LibsqlDatabase } from 'libsql';
import { Changes } from '../changes.ts';
import type { StoreParts } from '../execution/create-store.ts';
import { driverOf, storeAccess } from '../execution/drivers.ts';
import { GroupCommit, type OpenTransaction } from './group-commit.ts';
import type { WriteAheadLog } from './write-ahead-log.ts';

/** The standard adapter denies transactional DDL; a migration that failed half-way would leave unrecorded tables behind. */
class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** A dialect for one open libsql database. */
export class LibsqlDialect extends SqliteDialect {
  readonly #commits: GroupCommit;
  readonly #driver: Driver;
  readonly #compiler = this.createQueryCompiler();
  readonly #adapter = this.createAdapter();
  readonly changes: Changes;

  /** @param log syncs what SQLite has committed, where SQLite does not do so itself */
  constructor(database: LibsqlDatabase, log: Pick<WriteAheadLog, 'sync' | 'close'> = syncedBySqlite) {
    super({ database: async () => Promise.reject(new Error('The driver has the database.')) });
    const changes = new Changes();
    const close = async (): Promise<void> => {
      await log.close();
      closeAndUnlock(database);
    };
    const commits = new GroupCommit(database, { changes, sync: () => log.sync(), close });
    this.changes = changes;
    this.#commits = commits;
    this.#driver = driverOf(storeAccess(commits), () => commits.destroy());
  }

  override createDriver(): Driver {
    return this.#driver;
  }

  override createAdapter(): SqliteAdapter {
    return new TransactionalSqliteAdapter();
  }

  /** What a store of this database is made of. */
  parts(): StoreParts<OpenTransaction> {
    return {
      ...{ transactions: this.#commits, dialect: this, compiler: this.#compiler, adapter: this.#adapter },
      ...{ changes: this.changes, isExclusive: true, destroy: () => this.#commits.destroy() },
    };
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
