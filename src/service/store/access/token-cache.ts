/** A cache of recently used tokens and their credentials. */
import type { Store } from '../database/database.ts';
import { findToken, type TokenRecord } from './credentials.ts';

export interface Tokens {
  /** The token with this hash and its credential, unless it has expired by `now` (milliseconds) or was revoked. */
  find(hash: string, now: number): Promise<TokenRecord | undefined>;
}

const tables = ['tokens', 'credentials'];

/** Caches tokens until credentials change. Only this process changes them, so revoking a token also removes it from the cache. */
export class TokenCache implements Tokens {
  readonly #store: Store;
  readonly #maxTokens: number;
  #tokens = new Map<string, TokenRecord>();
  #version = -1;

  constructor(store: Store, maxTokens = 10_000) {
    this.#store = store;
    this.#maxTokens = maxTokens;
  }

  async find(hash: string, now: number): Promise<TokenRecord | undefined> {
    const version = this.#store.changes.versionOf(tables);
    if (version !== this.#version) {
      this.#tokens = new Map();
      this.#version = version;
    }
    // If credentials change during the lookup, this is no longer the cache that is used afterwards.
    const tokens = this.#tokens;
    const cachedToken = tokens.get(hash);
    if (cachedToken !== undefined) return cachedToken.expiresAt === null || cachedToken.expiresAt > now ? cachedToken : undefined;
    const token = await findToken(this.#store, hash, now);
    if (token === undefined) return undefined;
    if (tokens.size >= this.#maxTokens) tokens.clear();
    tokens.set(hash, token);
    return token;
  }
}
