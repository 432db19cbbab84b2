/** Explains the errors of SQLite and the system about a data directory on which no service can start. */
import { join } from 'node:path';
import { AopsError, exitCodes, UsageError } from '../../../../base/errors.ts';
import { writeFailure } from '../../../../base/write-failure.ts';
import { sqliteKind } from '../../../sqlite-codes.ts';

/** The system errors that correspond to errors of SQLite. */
const systemCodes: Record<string, string> = { SQLITE_FULL: 'ENOSPC', SQLITE_IOERR: 'EIO', SQLITE_READONLY: 'EROFS', SQLITE_PERM: 'EACCES' };

/** Converts an error about opening the data of a service if its code is a common one; returns other errors unchanged. */
export function dataFailure(error: unknown, dataDirectory: string): unknown {
  if (!(error instanceof Error) || error instanceof AopsError) return error;
  const { code = '', path = join(dataDirectory, 'aops.db') } = error as NodeJS.ErrnoException;
  const kind = sqliteKind(error);
  if (kind === 'SQLITE_NOTADB' || kind === 'SQLITE_CORRUPT') return damagedData(dataDirectory, error);
  if (code === 'EISDIR') return new UsageError(`${path} is a directory.`, otherDirectory, 'data_directory_unusable');
  // The folder cannot be written, in which SQLite creates the log of the database; the disk is not read-only.
  if (isInReadOnlyFolder(error)) return writeFailure(Object.assign(new Error(error.message, { cause: error }), noAccess), path);
  const system = Object.hasOwn(systemCodes, kind) ? { code: systemCodes[kind], syscall: 'write' } : undefined;
  return writeFailure(system === undefined ? error : Object.assign(new Error(error.message, { cause: error }), system), path);
}

const noAccess = { code: 'EACCES', syscall: 'write' };

/** SQLITE_READONLY_DIRECTORY */
const isInReadOnlyFolder = (error: object): boolean => 'rawCode' in error && error.rawCode === 1544;

const otherDirectory = 'Choose another directory with --data-dir.';

const damagedData = (dataDirectory: string, cause: Error): AopsError =>
  new AopsError(`The database in ${dataDirectory} is damaged, or it is not a database: ${cause.message}.`, {
    code: 'data_directory_damaged',
    exit: exitCodes.failure,
    hint: 'Restore a backup into another directory with `aops local restore FILE --data-dir DIR`, or choose another directory.',
    cause,
  });

/** The error for a database that does not belong to a service. */
export const foreignData = (dataDirectory: string): AopsError =>
  new UsageError(
    `${join(dataDirectory, 'aops.db')} is not an aops database. Nothing was changed.`,
    otherDirectory,
    'data_directory_foreign',
  );
