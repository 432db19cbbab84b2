/**
 * The write-ahead log beside a database, synced by us and not by SQLite: that would keep the whole process waiting for the disk
 * with every commit. In the mode `synchronous=NORMAL` it leaves out that one sync of a commit, and no other
 * (https://sqlite.org/pragma.html#pragma_synchronous): a database is whole at every moment, and what was synced is in it.
 */
import { type FileHandle, open } from 'node:fs/promises';

/** The log goes into the database at so many pages, 16 MiB and not 4: that waits for the disk, and pages change often meanwhile. */
export const logPages = 4_000;

export class WriteAheadLog {
  readonly #file: FileHandle;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** The log of a database that is open; it is the same file until the database is closed. */
  static async of(databasePath: string): Promise<WriteAheadLog> {
    return new WriteAheadLog(await open(`${databasePath}-wal`, 'r+'));
  }

  /** Resolves when everything that was committed before is on the disk. */
  sync(): Promise<void> {
    return this.#file.datasync();
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
