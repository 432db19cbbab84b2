/**
 * Shares a rate limit between the processes of one user: a small file for each service and credential. It is advisory, so
 * there is no lock, the last writer wins, and files that cannot be read or written are silently ignored.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ignoreErrors } from '../../base/ignore-errors.ts';
import { makeFolders } from '../../base/make-folders.ts';
import { shortName } from '../../base/short-name.ts';

/** What one process knows about the rate limit. */
export interface SharedEntry {
  /** Remaining requests in the window. */
  remaining: number;
  /** End of the window, in milliseconds of the service's clock. */
  resetAt: number;
  /** The service's clock minus that of this machine, in milliseconds. */
  ahead: number;
  /** When it was observed, in milliseconds of this machine's clock. */
  seenAt: number;
}

const entryLife = 60 * 60_000;
const maxFileBytes = 1_024;

export class SharedLimits {
  readonly #file: string;

  /** @param identity the owner of the limit: the service's origin, and the credential's displayable name */
  constructor(cacheFolder: string, identity: readonly string[]) {
    this.#file = path.join(cacheFolder, 'rate-limits', `${shortName(JSON.stringify(identity))}.json`);
  }

  /** The entry written by another or an earlier process. `now` is local time in milliseconds. */
  read(now: number): SharedEntry | undefined {
    const entry = readEntry(this.#file);
    if (entry === undefined || entry.seenAt > now + 60_000 || entry.seenAt < now - entryLife) return undefined;
    return entry.resetAt > now + entry.ahead ? entry : undefined;
  }

  /** Writes an entry, unless the existing one is more informative. */
  write(entry: SharedEntry): void {
    const storedEntry = this.read(entry.seenAt);
    if (storedEntry !== undefined && !replaces(entry, storedEntry)) return;
    const temporary = `${this.#file}.${Math.random().toString(36).slice(2)}.tmp`;
    try {
      makeFolders(path.dirname(this.#file), 0o700);
      writeFileSync(temporary, JSON.stringify({ v: 1, ...entry }), { mode: 0o600, flag: 'wx' });
      renameSync(temporary, this.#file);
    } catch {
      ignoreErrors(() => rmSync(temporary));
    }
  }
}

/** Whether an entry replaces another: first one with no remaining requests, then one of a later window, then one with fewer remaining. */
function replaces(entry: SharedEntry, storedEntry: SharedEntry): boolean {
  if ((entry.remaining === 0) !== (storedEntry.remaining === 0)) return entry.remaining === 0;
  const sameWindow = Math.abs(entry.resetAt - storedEntry.resetAt) < 1_000;
  return sameWindow ? entry.remaining <= storedEntry.remaining : entry.resetAt > storedEntry.resetAt;
}

function readEntry(file: string): SharedEntry | undefined {
  try {
    // A link, or a file that other users can write, was not written by this code.
    const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
    try {
      const stats = fstatSync(descriptor);
      if (stats.size > maxFileBytes) return undefined;
      if (constants.O_NOFOLLOW !== undefined && (stats.mode & 0o077) !== 0) return undefined;
      const entry = JSON.parse(readFileSync(descriptor, 'utf8')) as (Partial<SharedEntry> & { v?: number }) | null;
      const numbers = [entry?.remaining, entry?.resetAt, entry?.ahead, entry?.seenAt];
      return entry?.v === 1 && numbers.every((value) => Number.isFinite(value)) ? (entry as SharedEntry) : undefined;
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return undefined;
  }
}
