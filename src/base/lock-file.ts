/**
 * Mutual exclusion between processes: a lock is a file that only one process can create. The holder touches it regularly,
 * so a lock that has become old was left behind by a process that died and may be broken.
 */
import { closeSync, openSync, readFileSync, statSync, unlinkSync, utimesSync, writeSync } from 'node:fs';
import { systemClock } from './clock.ts';
import { crypto } from './crypto.ts';
import { ignoreErrors } from './ignore-errors.ts';

export interface LockOptions {
  /** A lock that has not been refreshed for this long was left behind. */
  staleMilliseconds?: number;
  /** Longest wait for another holder. */
  waitMilliseconds?: number;
  signal?: AbortSignal | undefined;
  /** Called before each attempt: true ends the wait, because the lock is no longer needed. */
  until?: () => boolean;
  /** Describes this process to others that want the lock. */
  holder?: string;
  /** Whether the process that described itself this way has certainly ended, so that its lock may be broken immediately. */
  hasEnded?: (holder: string) => boolean;
}

export type Unlock = () => void;

const retryMilliseconds = 20;

/**
 * Acquires the lock `file`, whose folder must exist. Resolves to the function that releases it, or to undefined when
 * another process held it for the whole wait or `until` returned true first.
 * @throws the system's error when the file cannot be created (EACCES, EROFS, ENOSPC), or the signal's reason
 */
export async function takeLock(file: string, options: LockOptions = {}): Promise<Unlock | undefined> {
  const { staleMilliseconds = 10_000, waitMilliseconds = 20_000, signal, until, holder, hasEnded } = options;
  const isStale = (): boolean => ageOf(file) > staleMilliseconds || hasEnded?.(holderOf(file)) === true;
  const deadline = systemClock.now() + waitMilliseconds;
  for (;;) {
    signal?.throwIfAborted();
    if (until?.()) return undefined;
    const owner = create(file, holder);
    if (owner !== undefined) return hold(file, owner, staleMilliseconds);
    if (isStale() && breakStale(file, staleMilliseconds, isStale)) continue;
    if (systemClock.now() > deadline) return undefined;
    // With jitter: many processes may wait for the same lock.
    await systemClock.sleep(retryMilliseconds * (0.5 + Math.random()), signal);
  }
}

/** Creates the lock and returns its owner mark, or undefined when a lock exists. */
function create(file: string, holder?: string): string | undefined {
  const owner = `${crypto().randomUUID()}${holder === undefined ? '' : ` ${holder}`}`;
  let descriptor: number;
  try {
    descriptor = openSync(file, 'wx', 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined;
    throw error;
  }
  try {
    writeSync(descriptor, owner);
    return owner;
  } catch (error) {
    // The disk is full: a lock without an owner mark could not be released and would block every process until it is stale.
    ignoreErrors(() => unlinkSync(file));
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

function hold(file: string, owner: string, staleMilliseconds: number): Unlock {
  const refresh = setInterval(() => {
    if (ownerOf(file) === owner) ignoreErrors(() => utimesSync(file, new Date(), new Date()));
  }, staleMilliseconds / 4);
  refresh.unref();
  return () => {
    clearInterval(refresh);
    // While the machine was asleep, another process may have broken the lock and taken it.
    if (ownerOf(file) === owner) ignoreErrors(() => unlinkSync(file));
  };
}

/**
 * Removes a stale lock. Only one process may do so at a time: a second one would remove the lock that the first has just created.
 * Returns false when it is still there, because another process is removing it or its folder does not allow it.
 */
function breakStale(file: string, staleMilliseconds: number, isStale: () => boolean): boolean {
  const breaker = `${file}.break`;
  if (ageOf(breaker) > staleMilliseconds) ignoreErrors(() => unlinkSync(breaker));
  if (create(breaker) === undefined) return false;
  try {
    if (isStale()) ignoreErrors(() => unlinkSync(file));
    return !isStale();
  } finally {
    ignoreErrors(() => unlinkSync(breaker));
  }
}

/** Milliseconds since the file was written, or 0 when it does not exist. */
function ageOf(file: string): number {
  const modifiedAt = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  return modifiedAt === undefined ? 0 : systemClock.now() - modifiedAt;
}

/** How the process that holds the lock describes itself; empty if it does not. */
const holderOf = (file: string): string => ownerOf(file)?.split(' ').slice(1).join(' ') ?? '';

function ownerOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
