/**
 * The SQLite database of a data directory, for those who open, hold, or inspect it. No other file outside of `database/sqlite` knows
 * which database it is.
 */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { Kysely } from 'kysely';
import type { Clock } from '../../base/clock.ts';
import { AopsError } from '../../base/errors.ts';
import { TokenCache } from './access/token-cache.ts';
import type { Store } from './database/database.ts';
import { removeExportMark } from './database/portable/export-mark.ts';
import type { ExportSource, ImportTarget } from './database/portable/portable-database.ts';
import type { Database } from './database/schema.ts';
import { openCopy } from './database/sqlite/copy.ts';
import { dataFailure } from './database/sqlite/data-failure.ts';
import { fileCopies, holdFile } from './database/sqlite/file-hold.ts';
import type { LogDamage } from './database/sqlite/log-damage.ts';
import { appliedMigrations, migrations, refuseForeign, refuseUnfinishedImport } from './database/sqlite/migrate.ts';
import { openDatabase, openUnchanged } from './database/sqlite/open.ts';
import { openSource, openTarget } from './database/sqlite/portable.ts';
import { LocalIdempotencyKeys } from './idempotency/idempotency-keys.ts';
import type { IdempotencyBounds } from './idempotency/key-usage.ts';
import { reclaimJobs } from './jobs/jobs.ts';
import type { Storage } from './storage.ts';

/** The names of the migrations that this version knows for data directories. */
export const knownMigrations: readonly string[] = Object.keys(migrations);

export interface StorageOptions {
  clock: Clock;
  /** What each credential may store under idempotency keys. */
  bounds: IdempotencyBounds | undefined;
  /** Called when part of the write-ahead log could not be used. */
  onDamage: (damage: LogDamage) => void;
}

/** Opens the SQLite database of a data directory, which no other process can have open. Throws what `openDatabase` does. */
export async function openStorage(dataDirectory: string, { clock, bounds, onDamage }: StorageOptions): Promise<Storage> {
  const store = await openDatabase(dataDirectory, onDamage);
  await removeExportMark(store);
  return {
    store,
    tokens: new TokenCache(store),
    keys: new LocalIdempotencyKeys({ store, clock, bounds }),
    copies: fileCopies(store),
    // No other process has the database open, so every job in progress is one that a process before this left behind.
    reclaim: (now) => reclaimJobs(store, now),
    failure: (error) => dataFailure(error, dataDirectory),
  };
}

/**
 * Locks the database of a stopped service, so that its file can be copied until the returned function is called. Resolves to
 * undefined if it contains nothing yet.
 * @throws AopsError `data_directory_in_use`, `data_directory_foreign`, `import_unfinished`
 */
export async function holdStoppedDatabase(dataDirectory: string): Promise<(() => Promise<void>) | undefined> {
  const store = await openUnchanged(dataDirectory);
  try {
    await refuseForeign(store, dataDirectory);
    await refuseUnfinishedImport(store, dataDirectory);
    if ((await appliedMigrations(store)).length > 0) {
      await holdFile(store);
      return () => store.destroy();
    }
  } catch (error) {
    await store.destroy();
    throw error;
  }
  await store.destroy();
  return undefined;
}

/** Why a database may not be removed. Damage is no reason. */
const reasonsToKeep = ['data_directory_in_use', 'data_directory_foreign'];

/**
 * Removes the database of a stopped service after `removeRest` has removed everything else. No service can start there until then, except
 * next to a database that is too damaged to be locked.
 * @returns what `removeRest` does
 * @throws AopsError `data_directory_in_use`, `data_directory_foreign`
 */
export async function removeDatabase<T>(dataDirectory: string, removeRest: () => Promise<T>): Promise<T> {
  const store = await lockForRemoval(dataDirectory);
  const remove = async (): Promise<void> => {
    for (const suffix of ['-wal', '-shm', '-journal', '']) await rm(path.join(dataDirectory, `aops.db${suffix}`), { force: true });
  };
  let isRemoved = false;
  let result: T;
  try {
    result = await removeRest();
    // Before the lock is released. Windows does not remove files that are open.
    isRemoved = await remove().then(
      () => true,
      () => false,
    );
  } finally {
    await store?.destroy();
  }
  if (!isRemoved) await remove();
  return result;
}

async function lockForRemoval(dataDirectory: string): Promise<Store | undefined> {
  let store: Store | undefined;
  try {
    store = await openUnchanged(dataDirectory);
    await refuseForeign(store, dataDirectory);
    return store;
  } catch (error) {
    await store?.destroy();
    if (error instanceof AopsError && reasonsToKeep.includes(error.code)) throw error;
    return undefined;
  }
}

/** A copy of a database file, which is only read. */
export interface OpenedCopy {
  readonly store: Kysely<Database>;
  /** The last migration that was applied; an empty text for an empty database. */
  readonly schema: string;
  /** What SQLite's integrity check found; undefined if the copy is sound. */
  readonly damage: string | undefined;
}

/** Opens a copy that no other process uses, in a separate thread, and checks its integrity. Destroy its store to close the file. */
export const openDatabaseCopy = (file: string): Promise<OpenedCopy> => openCopy(file);

/** Opens the database of a data directory to export it. Throws what `openSource` does. */
export const openDirectorySource = (dataDirectory: string): Promise<ExportSource> => openSource(dataDirectory);

/** Opens the database of a data directory to import into it. Throws what `openTarget` does. */
export const openDirectoryTarget = (dataDirectory: string): Promise<ImportTarget> => openTarget(dataDirectory);
