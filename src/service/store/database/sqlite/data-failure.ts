/** What SQLite and the system say of a data directory on which no service can be started, in words. */
import { join } from 'node:path';
import { AopsError, exitCodes, UsageError } from '../../../../base/errors.ts';
import { writeFailure } from '../../../../base/write-failure.ts';
import { sqliteKind } from '../../../sqlite-codes.ts';

/** What the system would have said, of what SQLite says of it. */
const systemCodes: Record<string, string> = { SQLITE_FULL: 'ENOSPC', SQLITE_IOERR: 'EIO', SQLITE_READONLY: 'EROFS', SQLITE_PERM: 'EACCES' };

/** The failure to open the data of a service, in words where its code is a usual one. Anything else comes back as it is. */
export function dataFailure(error: unknown, dataDirectory: string): unknown {
  if (!(error instanceof Error) || error instanceof AopsError) return error;
  const { code = '', path = join(dataDirectory, 'aops.db') } = error as NodeJS.ErrnoException;
  const kind = sqliteKind(error);
  if (kind === 'SQLITE_NOTADB' || kind === 'SQLITE_CORRUPT') return damagedData(dataDirectory, error);
  if (code === 'EISDIR') return new UsageError(`${path} is a directory.`, otherDirectory, 'data_directory_unusable');
  // It is the folder that may not be written, where the log of the database has its place: no read-only disk.
  if (isInReadOnlyFolder(error)) return writeFailure(Object.assign(new Error(error.message, { cause: error }), noAccess), path);
  const system = Object.hasOwn(systemCodes, kind) ? { code: systemCodes[kind], syscall: 'write' } : undefined;
  return writeFailure(system === undefined ? error : Object.assign(new Error(error.message, { cause: error }), system), path);
}

const noAccess = { code: 'EACCES', syscall: 'write' };

/** SQLITE_READONLY_DIRECTORY */
const isInReadOnlyFolder = (error: object): boolean => 'rawCode' in error && error.rawCode === 1544;

const otherDirectory = 'Choose another directory with --data-dir.';

const damagedData = (dataDirectory: string, cause: Error): AopsError =>
  new AopsError(`The database in ${dataDirectory} is damaged, or is none: ${cause.message}.`, {
    code: 'data_directory_damaged',
    exit: exitCodes.failure,
    hint: 'Restore a backup into another directory with `aops local restore FILE --data-dir DIR`, or choose another directory.',
    cause,
  });

/** Of a database that holds other things than a service's. */
export const foreignData = (dataDirectory: string): AopsError =>
  new UsageError(
    `${join(dataDirectory, 'aops.db')} is no database of aops; nothing was changed.`,
    otherDirectory,
    'data_directory_foreign',
  );
