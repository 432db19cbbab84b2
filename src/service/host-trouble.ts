/**
 * Trouble of the host that passes: a full disk, too many open files, no memory. It says nothing about what was being done, so that
 * a job that meets it is tried again and no run fails for it, and a request is answered 503 with its name.
 */
import { ServiceError } from './errors.ts';
import { sqliteKind } from './sqlite-codes.ts';

export type HostTrouble = 'disk_full' | 'disk_failed' | 'too_many_open_files' | 'out_of_memory';

const systemCodes: Readonly<Record<string, HostTrouble>> = {
  ENOSPC: 'disk_full',
  EDQUOT: 'disk_full',
  EIO: 'disk_failed',
  EROFS: 'disk_failed',
  EMFILE: 'too_many_open_files',
  ENFILE: 'too_many_open_files',
  ENOMEM: 'out_of_memory',
};

const sqliteCodes: Readonly<Record<string, HostTrouble>> = {
  SQLITE_FULL: 'disk_full',
  SQLITE_IOERR: 'disk_failed',
  SQLITE_CANTOPEN: 'too_many_open_files',
  SQLITE_NOMEM: 'out_of_memory',
};

/** What is wrong with the host, where that is why something failed; undefined for every other failure. */
export function hostTrouble(error: unknown): HostTrouble | undefined {
  for (let [cause, depth] = [error, 0]; cause instanceof Error && depth < 8; [cause, depth] = [cause.cause, depth + 1]) {
    // An answer to whoever asked, not a failure of the host; what it was made from does not matter.
    if (cause instanceof ServiceError) return undefined;
    const { code = '', syscall = '' } = cause as NodeJS.ErrnoException;
    // Of a fork; for a socket or file it only means "not yet".
    if (code === 'EAGAIN' && syscall.startsWith('spawn')) return 'out_of_memory';
    const kind = Object.hasOwn(systemCodes, code) ? systemCodes[code] : sqliteCodes[sqliteKind(cause)];
    if (kind !== undefined) return kind;
  }
  return undefined;
}

/** What is said of each to whoever asks over HTTP, and to whoever operates the service. */
export const troubleWords: Readonly<Record<HostTrouble, { message: string; advice: string }>> = {
  disk_full: {
    message: 'The disk of this service is full. Nothing can be saved until there is space again.',
    advice: 'Make room on the disk of the data directory; runs then continue by themselves.',
  },
  disk_failed: {
    message: 'The disk of this service failed to read or write.',
    advice: 'Check the disk of the data directory.',
  },
  too_many_open_files: {
    message: 'This service has too many open files.',
    advice: 'Allow more with `ulimit -n`; runs then continue by themselves.',
  },
  out_of_memory: {
    message: 'The machine of this service has no memory or processes left.',
    advice: 'Stop other programs, or give the service more; runs then continue by themselves.',
  },
};
