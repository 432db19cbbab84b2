/** A cache of recently used tokens and their credentials. */
import { BoundedCache } from '../../../base/bounded-cache.ts';
import type { Store } from '../database/database.ts';
import { findToken, type TokenRecord } from './credentials.ts';

export interface Tokens {
  /** The token with this hash and its credential, unless it has expired by `now` (milliseconds) or was revoked. */
  find(hash: string, now: number): Promise<TokenRecord | undefined>;
}

const tables = ['tokens', 'credentials'];

/** How long a token is cached, in milliseconds, if other processes can revoke it. */
export const sharedTokenLife = 900;

/** Caches tokens until credentials change. Only this process changes them, so revoking a token also removes it from the cache. */
export class TokenCache implements Tokens {
  readonly #store: Store;
  readonly #maxTokens: number;
  #tokens: BoundedCache<TokenRecord>;
  #version = -1;

  constructor(store: Store, maxTokens = 10_000) {
    this.#store = store;
    this.#maxTokens = maxTokens;
    this.#tokens = new BoundedCache(maxTokens);
  }

  async find(hash: string, now: number): Promise<TokenRecord | undefined> {
    const version = this.#store.changes.versionOf(tables);
    if (version !== this.#version) {
      this.#tokens = new BoundedCache(this.#maxTokens);
      this.#version = version;
    }
    // If credentials change during the lookup, this is no longer the cache that is used afterwards.
    const tokens = this.#tokens;
    const cachedToken = tokens.get(hash);
    if (cachedToken !== undefined) return cachedToken.expiresAt === null || cachedToken.expiresAt > now ? cachedToken : undefined;
    const token = await findToken(this.#store, hash, now);
    // Another request may have looked it up at the same time.
    if (token !== undefined && !tokens.has(hash)) tokens.set(hash, token);
    return token;
  }
}

/** Caches tokens of a database that other processes change as well: until they report a change, and for less than a second. */
export class SharedTokenCache implements Tokens {
  readonly #store: Store;
  readonly #steady: () => number;
  #current: { readonly cache: TokenCache; readonly startedAt: number } | undefined;

  /** @param steady milliseconds since any moment, not affected when the system time is set */
  constructor(store: Store, steady: () => number) {
    this.#store = store;
    this.#steady = steady;
  }

  find(hash: string, now: number): Promise<TokenRecord | undefined> {
    const time = this.#steady();
    if (this.#current === undefined || time - this.#current.startedAt >= sharedTokenLife)
      this.#current = { cache: new TokenCache(this.#store), startedAt: time };
    return this.#current.cache.find(hash, now);
  }
}
