/** A cache of recently used tokens and their credentials. */
import type { Store } from '../database/database.ts';
import { type FoundToken, findToken } from './credentials.ts';

export interface Tokens {
  /** The token with this hash and its credential, unless it has expired by `now` (milliseconds) or was revoked. */
  find(hash: string, now: number): Promise<FoundToken | undefined>;
}

const tables = ['tokens', 'credentials'];
const maxTokens = 10_000;

/** Caches tokens until credentials change. Only this process changes them, so revoking a token also removes it from the cache. */
export class KnownTokens implements Tokens {
  readonly #store: Store;
  #tokens = new Map<string, FoundToken>();
  #version = -1;

  constructor(store: Store) {
    this.#store = store;
  }

  async find(hash: string, now: number): Promise<FoundToken | undefined> {
    const before = this.#store.changes.of(tables);
    if (before !== this.#version || this.#tokens.size > maxTokens) {
      this.#tokens = new Map();
      this.#version = before;
    }
    const cached = this.#tokens.get(hash);
    if (cached !== undefined) return cached.expiresAt === null || cached.expiresAt > now ? cached : undefined;
    const token = await findToken(this.#store, hash, now);
    if (token !== undefined && this.#version === before && this.#store.changes.of(tables) === before) this.#tokens.set(hash, token);
    return token;
  }
}
