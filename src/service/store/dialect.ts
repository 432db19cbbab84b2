/** Kysely's SQLite dialect over libsql, with what the stock one gets wrong put right. */

import { SqliteAdapter, type SqliteDatabase, SqliteDialect } from 'kysely';
import type { Database as LibsqlDatabase } from 'libsql';

/** The stock adapter declares none, and a migration that fails half-way would leave its tables behind, unrecorded. */
class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** A dialect for one open libsql database. */
export class LibsqlDialect extends SqliteDialect {
  constructor(database: LibsqlDatabase) {
    super({ database: guarded(database) });
  }

  override createAdapter(): SqliteAdapter {
    return new TransactionalSqliteAdapter();
  }
}

function guarded(database: LibsqlDatabase): SqliteDatabase {
  return {
    close: () => closeAndUnlock(database),
    prepare(sql) {
      const statement = database.prepare(sql);
      return {
        reader: statement.reader,
        all: (parameters) => statement.all(parameters.map(bindable)),
        run: (parameters) => statement.run(parameters.map(bindable)) as { changes: number; lastInsertRowid: number },
        iterate: (parameters) => statement.iterate(parameters.map(bindable)) as IterableIterator<unknown>,
      };
    },
  };
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

/** libsql aborts the whole process on a boolean, and cuts a text at its first NUL character without a word. */
function bindable(value: unknown): unknown {
  if (typeof value === 'boolean') throw new TypeError('A boolean cannot be bound; columns of that kind hold 1 or 0.');
  if (typeof value === 'string' && value.includes('\0')) return value.replaceAll('\0', '\uFFFD');
  return value;
}
