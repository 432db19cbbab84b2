/**
 * The write-ahead log of a database. It is synced here and not by SQLite, which would make the whole process wait for the disk with
 * every commit. In the mode `synchronous=NORMAL` SQLite omits only this sync (https://sqlite.org/pragma.html#pragma_synchronous): a
 * database is consistent at every moment, and contains everything that was synced.
 */
import { type FileHandle, open } from 'node:fs/promises';

/** The number of pages (16 MiB instead of 4) at which the log is moved into the database: this waits for the disk, and pages change often. */
export const logPages = 4_000;

export class WriteAheadLog {
  readonly #file: FileHandle;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** The log of an open database; it is the same file until the database is closed. */
  static async openFor(databasePath: string): Promise<WriteAheadLog> {
    return new WriteAheadLog(await open(`${databasePath}-wal`, 'r+'));
  }

  /** Resolves when everything that was committed before the call is on the disk. */
  sync(): Promise<void> {
    return this.#file.datasync();
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
