/**
 * Temporary problems of the host: a full disk, too many open files, no memory. They are unrelated to the operation that fails: a job
 * that fails because of one is retried, no run fails because of one, and a request gets a 503 with its name.
 */
import { ServiceError } from './errors.ts';
import { sqliteKind } from './sqlite-codes.ts';

export type HostTrouble =
  | 'disk_full'
  | 'disk_failed'
  | 'too_many_open_files'
  | 'out_of_memory'
  | 'database_unavailable'
  | 'database_busy'
  | 'files_unavailable';

const systemCodes: Readonly<Record<string, HostTrouble>> = {
  ENOSPC: 'disk_full',
  EDQUOT: 'disk_full',
  EIO: 'disk_failed',
  // The folder of a file server that is no longer mounted.
  ESTALE: 'disk_failed',
  EROFS: 'disk_failed',
  EMFILE: 'too_many_open_files',
  ENFILE: 'too_many_open_files',
  ENOMEM: 'out_of_memory',
  FILES_UNAVAILABLE: 'files_unavailable',
};

const sqliteCodes: Readonly<Record<string, HostTrouble>> = {
  SQLITE_FULL: 'disk_full',
  SQLITE_IOERR: 'disk_failed',
  SQLITE_CANTOPEN: 'too_many_open_files',
  SQLITE_NOMEM: 'out_of_memory',
};

const postgresCodes: Readonly<Record<string, HostTrouble>> = {
  DATABASE_UNAVAILABLE: 'database_unavailable',
  DATABASE_BUSY: 'database_busy',
  // Full disk, out of memory.
  '53100': 'disk_full',
  '53200': 'out_of_memory',
  // Serialization failure and deadlock after several attempts, lock not available in time, query cancelled after its time limit.
  '40001': 'database_busy',
  '40P01': 'database_busy',
  '55P03': 'database_busy',
  '57014': 'database_busy',
  // A newer version has changed a table in the middle of a request; see `isOutdatedPlan`.
  '0A000': 'database_busy',
};

/** The problem of the host that caused an error; undefined if the error has another cause. */
export function hostTrouble(error: unknown): HostTrouble | undefined {
  for (let [cause, depth] = [error, 0]; cause instanceof Error && depth < 8; [cause, depth] = [cause.cause, depth + 1]) {
    // This is a response for the client, not a failure of the host, whatever its cause was.
    if (cause instanceof ServiceError) return undefined;
    const { code = '', syscall = '' } = cause as NodeJS.ErrnoException;
    // A process could not be started. For a socket or file, this code only means "not yet".
    if (code === 'EAGAIN' && syscall.startsWith('spawn')) return 'out_of_memory';
    const kind = Object.hasOwn(systemCodes, code) ? systemCodes[code] : (sqliteCodes[sqliteKind(cause)] ?? postgresTrouble(cause));
    if (kind !== undefined) return kind;
  }
  return undefined;
}

const ownCodes: readonly unknown[] = ['DATABASE_UNAVAILABLE', 'DATABASE_BUSY'];

/** Only errors of Postgres have a severity. */
const postgresTrouble = (error: Error): HostTrouble | undefined =>
  'code' in error && ('severity' in error || ownCodes.includes(error.code)) ? postgresCodes[String(error.code)] : undefined;

/** The message for HTTP clients, and the advice for the operator of the service. */
export const troubleWords: Readonly<Record<HostTrouble, { message: string; advice: string }>> = {
  disk_full: {
    message: 'The disk of this service is full. Nothing can be saved until there is space again.',
    advice: 'Free some space on the disk of the data directory; runs then continue by themselves.',
  },
  disk_failed: {
    message: 'The disk of this service failed to read or write.',
    advice: 'Check the disk of the data directory.',
  },
  too_many_open_files: {
    message: 'This service has too many open files.',
    advice: 'Raise the limit with `ulimit -n`; runs then continue by themselves.',
  },
  out_of_memory: {
    message: 'The machine of this service has run out of memory or processes.',
    advice: 'Stop other programs, or raise the limits of the service; runs then continue by themselves.',
  },
  database_unavailable: {
    message: 'The database of this service is not available.',
    advice: 'Check the database and the network; runs then continue by themselves.',
  },
  database_busy: {
    message: 'The database of this service is too busy.',
    advice:
      'Look for long transactions and slow disks of the database, or permit more connections with --database-connections; runs continue by themselves.',
  },
  files_unavailable: {
    message: 'The file store of this service is not available.',
    advice: 'Check the bucket, its credentials, and the network; runs then continue by themselves.',
  },
};
