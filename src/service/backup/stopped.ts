/** Holds the data directory of a stopped service, with the lock on its database, so that no service can start. */
import { createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { noData } from '../../base/data-directory.ts';
import { isAbsent, readFailure } from '../../base/read-failure.ts';
import { holdStoppedDatabase } from '../store/data-directory.ts';
import { isoTime } from '../store/database/time.ts';
import { databaseName } from './format.ts';
import type { HeldDirectory } from './held-directory.ts';

/** @param now milliseconds. Throws AopsError `data_directory_in_use` while a service runs there, `data_directory_foreign`, `no_data`, `not_readable` */
export async function holdStopped(dataDirectory: string, now: number): Promise<HeldDirectory> {
  const file = join(dataDirectory, databaseName);
  // Opened before the lock is taken, and closed after it was released: closing any descriptor of the file releases the lock (POSIX).
  const handle = await open(file, 'r').catch((error: unknown) => {
    throw isAbsent(error) ? noData(dataDirectory) : readFailure(error, file);
  });
  const unlock = await holdStoppedDatabase(dataDirectory).catch(async (error: unknown) => {
    await handle.close();
    throw error;
  });
  if (unlock === undefined) {
    await handle.close();
    throw noData(dataDirectory);
  }
  return {
    path: dataDirectory,
    createdAt: isoTime(now),
    copyDatabase: (to) =>
      pipeline(handle.createReadStream({ start: 0, autoClose: false }), createWriteStream(to, { mode: 0o600, flags: 'wx' })),
    keepFilesAlone: async () => undefined,
    async release() {
      await unlock();
      await handle.close();
    },
  };
}
