/**
 * Access tokens on disk, so that a script of many commands fetches only one. A file contains a token and its owner, never
 * the client secret; its name is a hash of everything the token depends on, so that another secret means another file.
 * A cache that cannot be read or written is not an error: the token is then fetched.
 */
import { createHash, randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { takeLock, type Unlock } from '../../base/lock-file.ts';
import { makeFolders } from '../../base/make-folders.ts';

export interface Token {
  value: string;
  /** Milliseconds since the epoch. */
  obtainedAt: number;
  /** When to fetch a new one; in the past for a token that is used only once. */
  staleAt: number;
  expiresAt: number;
  /** The granted scope, if the service reported it. */
  scope?: string;
  /** Whether it replaced a token that the service had rejected: if it is rejected too, another one will not help. */
  replacement?: boolean;
}

/** Everything that a token depends on. */
export interface TokenOwner {
  /** Origin of the service for which the token is used. */
  origin: string;
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
  scope?: string | undefined;
}

/** Longest wait for a fetch by another process. */
const lockWaitMilliseconds = 40_000;
/** How much the clocks of machines that share a home directory may differ. */
const futureMilliseconds = 60_000;
const folderName = 'tokens';

export class TokenCache {
  readonly #folder: string;
  readonly #owner: TokenOwner;
  readonly #file: string;

  /** @param cacheFolder absolute; the tokens are stored in a subfolder of it */
  constructor(cacheFolder: string, owner: TokenOwner) {
    this.#folder = path.join(cacheFolder, folderName);
    this.#owner = owner;
    const secret = sha256(owner.clientSecret);
    const name = sha256(JSON.stringify([owner.origin, owner.tokenUrl, owner.clientId, owner.scope, secret]));
    this.#file = path.join(this.#folder, `${name}.json`);
  }

  /** The token on disk, unless it has expired. `now` in milliseconds. */
  read(now: number): Token | undefined {
    const entry = readEntry(this.#file);
    if (entry === undefined || entry.token.expiresAt <= now || entry.token.obtainedAt > now + futureMilliseconds) return undefined;
    return entry.origin === this.#owner.origin && entry.client_id === this.#owner.clientId ? entry.token : undefined;
  }

  /** Stores a token atomically, readable by its owner only (0600). Expired tokens are removed. */
  write(token: Token): void {
    const temporary = `${this.#file}.${randomUUID()}.tmp`;
    try {
      const { origin, clientId, tokenUrl } = this.#owner;
      writeFileSync(temporary, JSON.stringify({ origin, client_id: clientId, token_url: tokenUrl, token }), { mode: 0o600, flag: 'wx' });
      renameSync(temporary, this.#file);
      removeTokens(this.#folder, ({ token: { expiresAt } }) => expiresAt <= token.obtainedAt);
    } catch {
      removeIfThere(temporary);
    }
  }

  /**
   * Acquires the lock under which a token is fetched; undefined when `until` returned true first, when another process held
   * it for too long, or when no lock can be created here.
   * @throws the signal's reason
   */
  async lock(until: () => boolean, signal: AbortSignal | undefined): Promise<Unlock | undefined> {
    try {
      prepareFolder(this.#folder);
      return await takeLock(`${this.#file}.lock`, { waitMilliseconds: lockWaitMilliseconds, signal, until });
    } catch {
      signal?.throwIfAborted();
      return undefined;
    }
  }
}

/** Removes all tokens for a service, also those that a process which was killed had not given their names yet. Returns their number. */
export function dropTokens(cacheFolder: string, origin: string): number {
  return removeTokens(path.join(cacheFolder, folderName), (entry) => entry.origin === origin);
}

interface Entry {
  origin: string;
  client_id: string;
  token: Token;
}

function readEntry(file: string): Entry | undefined {
  try {
    // A link, or a file that other users can read or write, was not written by this code.
    const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    try {
      const { mode } = fstatSync(descriptor);
      if (constants.O_NOFOLLOW !== undefined && (mode & 0o077) !== 0) return undefined;
      // Anything but an object with a token throws.
      const entry = JSON.parse(readFileSync(descriptor, 'utf8')) as Entry;
      return isToken(entry.token) ? entry : undefined;
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return undefined;
  }
}

function isToken(token: Partial<Token>): boolean {
  return (
    typeof token.value === 'string' &&
    /^[\x21-\x7e]+$/.test(token.value) &&
    [token.obtainedAt, token.staleAt, token.expiresAt].every((time) => typeof time === 'number') &&
    (token.scope === undefined || typeof token.scope === 'string')
  );
}

function removeTokens(folder: string, matches: (entry: Entry) => boolean): number {
  let removedCount = 0;
  for (const name of names(folder)) {
    const file = path.join(folder, name);
    const entry = readEntry(file);
    if (entry === undefined || !matches(entry)) continue;
    if (removeIfThere(file)) removedCount += 1;
  }
  return removedCount;
}

/** Returns whether the file existed and this process removed it. */
function removeIfThere(file: string): boolean {
  try {
    unlinkSync(file);
    return true;
  } catch {
    return false;
  }
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** @throws Error when the folder is a link or cannot be created */
function prepareFolder(folder: string): void {
  makeFolders(folder, 0o700);
  const stats = lstatSync(folder);
  if (!stats.isDirectory()) throw new Error('not a folder');
  if (constants.O_NOFOLLOW !== undefined && (stats.mode & 0o077) !== 0) chmodSync(folder, 0o700);
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
