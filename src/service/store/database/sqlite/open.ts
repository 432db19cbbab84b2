/**
 * Opens the SQLite database of a data directory. The operating system locks the file for as long as it is open, so one process owns a
 * directory, and a lock left by a killed process needs no clean-up.
 */
import { open, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import Libsql from 'libsql';
import { AopsError, exitCodes } from '../../../../base/errors.ts';
import type { Store } from '../database.ts';
import { createStore } from '../execution/create-store.ts';
import { dataFailure } from './data-failure.ts';
import { LibsqlDialect } from './dialect.ts';
import { type LogDamage, logDamage } from './log-damage.ts';
import { migrate, refuseUnfinishedImport } from './migrate.ts';
import { logPages, WriteAheadLog } from './write-ahead-log.ts';

/**
 * Opens `<dataDirectory>/aops.db`, creating or migrating it.
 * `onDamage` is called if part of the write-ahead log could not be used.
 * Throws AopsError `data_directory_in_use` if another process owns it, `data_directory_newer` if a newer version wrote it,
 * `data_directory_damaged` or `data_directory_foreign` if it is not a data directory, `import_unfinished`, `not_writable`, `disk_full`.
 */
export async function openDatabase(dataDirectory: string, onDamage: (damage: LogDamage) => void = () => undefined): Promise<Store> {
  const { database, log, damage } = await openExclusively(dataDirectory);
  if (damage !== undefined) onDamage(damage);
  const dialect = new LibsqlDialect(database, log);
  const store = storeOf(dialect);
  try {
    await refuseUnfinishedImport(store, dataDirectory);
    await migrate(store, dataDirectory);
  } catch (error) {
    await store.destroy();
    throw dataFailure(error, dataDirectory);
  }
  return store;
}

/** Opens and locks the database of a data directory without changing it, to copy it. Throws AopsError `data_directory_in_use`. */
export async function openUnchanged(dataDirectory: string): Promise<Store> {
  const { database, log } = await openExclusively(dataDirectory);
  return storeOf(new LibsqlDialect(database, log));
}

/** The store over a dialect. */
export const storeOf = (dialect: LibsqlDialect): Store => createStore(dialect.parts());

async function openExclusively(
  dataDirectory: string,
): Promise<{ database: Libsql.Database; log: WriteAheadLog; damage: LogDamage | undefined }> {
  const path = join(dataDirectory, 'aops.db');
  try {
    // Created here so that only its owner can read it; SQLite gives the files next to it the same mode.
    await (await open(path, 'a', 0o600)).close();
  } catch (error) {
    throw dataFailure(error, dataDirectory);
  }
  const identity = await identityOf(path);
  const database = new Libsql(path);
  try {
    // Before anything accesses the file: later, the lock would already be shared.
    database.pragma('locking_mode=EXCLUSIVE');
    database.pragma('journal_mode=WAL');
    // The driver syncs commits itself, before any caller learns of them.
    database.pragma('synchronous=NORMAL');
    database.pragma(`wal_autocheckpoint=${logPages}`);
    database.pragma('foreign_keys=ON');
    database.exec('BEGIN IMMEDIATE; COMMIT');
    // Nothing has been written yet, so the log is unchanged.
    const damage = await logDamage(`${path}-wal`);
    return { database, log: await WriteAheadLog.openFor(path), damage };
  } catch (error) {
    database.close();
    // Whoever had the lock before might have removed the file. SQLite does not use it then.
    if ((await identityOf(path)) !== identity) return openExclusively(dataDirectory);
    if (!isLocked(error)) throw dataFailure(error, dataDirectory);
    const pid = await ownerPid(dataDirectory);
    throw new AopsError(
      `The data directory ${dataDirectory} is in use by another aops service${pid === undefined ? '' : ` (process ${pid})`}.`,
      {
        code: 'data_directory_in_use',
        exit: exitCodes.conflict,
        hint: 'Use the service that is running, stop it first, or choose another data directory.',
        cause: error,
      },
    );
  }
}

/** Identifies a file as long as it is open or has a name: its number is not used again until then. */
const identityOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ ino }) => ino,
    () => undefined,
  );

const isLocked = (error: unknown): boolean => error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY');

async function ownerPid(dataDirectory: string): Promise<number | undefined> {
  try {
    const state = JSON.parse(await readFile(join(dataDirectory, 'service.json'), 'utf8')) as { pid?: unknown };
    return typeof state.pid === 'number' ? state.pid : undefined;
  } catch {
    // This only names the owner; the error is correct without it.
    return undefined;
  }
}
