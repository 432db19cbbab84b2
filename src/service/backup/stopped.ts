/** Holds the data directory of a stopped service, with the lock on its database, so that no service can start. */
import { createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isAbsent, readFailure } from '../../base/read-failure.ts';
import { holdFile } from '../store/database/sqlite/file-hold.ts';
import { appliedMigrations, refuseForeign } from '../store/database/sqlite/migrate.ts';
import { openUnchanged } from '../store/database/sqlite/open.ts';
import { isoTime } from '../store/database/time.ts';
import { databaseName } from './format.ts';
import type { HeldDirectory } from './held-directory.ts';
import { nothingToBackUp } from './problems.ts';

/** @param now milliseconds. Throws AopsError `data_directory_in_use` while a service runs there, `data_directory_foreign`, `no_data`, `not_readable` */
export async function holdStopped(dataDirectory: string, now: number): Promise<HeldDirectory> {
  const file = join(dataDirectory, databaseName);
  // Opened before the lock is taken, and closed after it was released: closing any descriptor of the file releases the lock (POSIX).
  const handle = await open(file, 'r').catch((error: unknown) => {
    throw isAbsent(error) ? nothingToBackUp(dataDirectory) : readFailure(error, file);
  });
  const store = await openUnchanged(dataDirectory).catch(async (error: unknown) => {
    await handle.close();
    throw error;
  });
  const release = async (): Promise<void> => {
    await store.destroy();
    await handle.close();
  };
  try {
    await refuseForeign(store, dataDirectory);
    if ((await appliedMigrations(store)).length === 0) throw nothingToBackUp(dataDirectory);
    await holdFile(store);
  } catch (error) {
    await release();
    throw error;
  }
  return {
    path: dataDirectory,
    createdAt: isoTime(now),
    copyDatabase: (to) =>
      pipeline(handle.createReadStream({ start: 0, autoClose: false }), createWriteStream(to, { mode: 0o600, flags: 'wx' })),
    keepFilesAlone: async () => undefined,
    release,
  };
}
