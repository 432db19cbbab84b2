/**
 * One process at a time: a lock is a file that only one can create. Its holder keeps it fresh, so that a lock which
 * grows old was left by a process that died, and may be broken.
 */

import { closeSync, openSync, readFileSync, statSync, unlinkSync, utimesSync, writeSync } from 'node:fs';
import { systemClock } from './clock.ts';
import { crypto } from './crypto.ts';
import { ignoreErrors } from './ignore-errors.ts';

export interface LockOptions {
  /** A lock that was not refreshed for so long was left behind. */
  staleMilliseconds?: number;
  /** Longest wait for another holder. */
  waitMilliseconds?: number;
  signal?: AbortSignal | undefined;
  /** Asked between looks: true ends the wait, because the lock is not needed any more. */
  until?: () => boolean;
}

export type Unlock = () => void;

const retryMilliseconds = 20;

/**
 * Takes the lock `file`, whose folder must exist. Resolves to the function that gives it back, or to undefined when
 * another process kept it for the whole wait, or `until` became true first.
 * @throws the system's error when the file cannot be created (EACCES, EROFS, ENOSPC), or the signal's reason
 */
export async function takeLock(file: string, options: LockOptions = {}): Promise<Unlock | undefined> {
  const { staleMilliseconds = 10_000, waitMilliseconds = 20_000, signal, until } = options;
  const deadline = systemClock.now() + waitMilliseconds;
  for (;;) {
    signal?.throwIfAborted();
    if (until?.()) return undefined;
    const owner = create(file);
    if (owner !== undefined) return held(file, owner, staleMilliseconds);
    if (ageOf(file) > staleMilliseconds) breakStale(file, staleMilliseconds);
    else if (systemClock.now() > deadline) return undefined;
    // Not all at the same moment: many may wait for one.
    else await systemClock.sleep(retryMilliseconds * (0.5 + Math.random()), signal);
  }
}

/** The mark of the new lock, or undefined when there is one already. */
function create(file: string): string | undefined {
  const owner = crypto().randomUUID();
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
    // On a full disk: a lock without an owner would be nobody's to give back, and hold up everybody until it is stale.
    ignoreErrors(() => unlinkSync(file));
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

function held(file: string, owner: string, staleMilliseconds: number): Unlock {
  const refresh = setInterval(() => {
    if (ownerOf(file) === owner) ignoreErrors(() => utimesSync(file, new Date(), new Date()));
  }, staleMilliseconds / 4);
  refresh.unref();
  return () => {
    clearInterval(refresh);
    // After a long sleep of the machine it may have been broken, and be another's by now.
    if (ownerOf(file) === owner) ignoreErrors(() => unlinkSync(file));
  };
}

/** Removes a stale lock. Only one may do so at a time: a second one would remove the first one's new lock. */
function breakStale(file: string, staleMilliseconds: number): void {
  const breaker = `${file}.break`;
  if (ageOf(breaker) > staleMilliseconds) ignoreErrors(() => unlinkSync(breaker));
  if (create(breaker) === undefined) return;
  try {
    if (ageOf(file) > staleMilliseconds) ignoreErrors(() => unlinkSync(file));
  } finally {
    ignoreErrors(() => unlinkSync(breaker));
  }
}

/** Milliseconds since the file was written, or 0 when there is none. */
function ageOf(file: string): number {
  const written = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  return written === undefined ? 0 : systemClock.now() - written;
}

function ownerOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
