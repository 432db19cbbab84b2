/**
 * The credential of OAuth 2.0 clients: a token is fetched when it is first needed, once for all requests and processes
 * that wait for it, kept until shortly before it expires, and replaced once when the service refuses it.
 */

import { orAborted } from '../../base/abort.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { retryPolicy } from '../backoff.ts';
import type { ClientEvent } from '../client.ts';
import { RateLimitedError, UnavailableError } from '../errors.ts';
import type { Network } from '../network/network.ts';
import type { Credential } from './credential.ts';
import type { Token, TokenCache } from './token-cache.ts';
import { basicPair, type ClientCredentials, requestToken } from './token-request.ts';

export type { ClientCredentials } from './token-request.ts';

export interface TokenOptions {
  userAgent?: string;
  clock?: Clock;
  network?: Network;
  /** Ends a fetch that several requests wait for: the command's signal. */
  signal?: AbortSignal;
  /** Longest pause the token endpoint may ask for, in milliseconds. */
  maxWaitMilliseconds?: number;
  /** Shared with other processes; without it a token lives in this one alone. */
  cache?: TokenCache;
  /** Told every value that must not be shown. */
  protect?: (secret: string) => void;
  onEvent?: (event: ClientEvent) => void;
  /** Source of jitter, in [0, 1). */
  random?: () => number;
}

/** A refused replacement is not replaced again for so long: the service refuses the client then, not the token. */
const replacementMilliseconds = 60_000;

export function clientCredential(given: ClientCredentials, options: TokenOptions = {}): Credential {
  const source = new TokenSource(given, options);
  return {
    authorization: async (signal) => bearer(await source.token(signal)),
    refresh: (rejected, signal) => source.replace(rejected, signal),
  };
}

const bearer = ({ value }: Token): string => `Bearer ${value}`;

class TokenSource {
  readonly #given: ClientCredentials;
  readonly #options: TokenOptions;
  readonly #clock: Clock;
  #current: Token | undefined;
  #fetching: Promise<Token> | undefined;
  /** The last token that the service refused. */
  #rejected: string | undefined;

  constructor(given: ClientCredentials, options: TokenOptions) {
    this.#given = given;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    options.protect?.(given.client_secret);
    options.protect?.(basicPair(given));
  }

  /** A token that is not known to be refused. */
  async token(signal: AbortSignal | undefined): Promise<Token> {
    const known = this.#usable(this.#current) ?? this.#usable(this.#onDisk());
    if (known === undefined) return this.#fetchOnce(signal);
    this.#options.protect?.(known.value);
    this.#current = known;
    return known;
  }

  /** Gets another token in place of one the service refused. Resolves to whether there is one worth a try. */
  async replace(rejected: string, signal: AbortSignal | undefined): Promise<boolean> {
    const refused = this.#current;
    // Another request got a new one meanwhile.
    if (refused && bearer(refused) !== rejected && this.#usable(refused)) return true;
    const value = rejected.replace(/^Bearer /, '');
    if (refused?.replacement === true && refused.value === value && this.#clock.now() - refused.obtainedAt < replacementMilliseconds) {
      return false;
    }
    this.#rejected = value;
    const token = await this.#fetchOnce(signal, true);
    if (token.value !== value) return true;
    // The same again, and as it was not the token's fault, there is no reason to avoid it.
    this.#rejected = undefined;
    return false;
  }

  #usable(token: Token | undefined): Token | undefined {
    return token && token.staleAt > this.#clock.now() && token.value !== this.#rejected ? token : undefined;
  }

  /** One fetch for all who wait; each may stop waiting. */
  #fetchOnce(signal: AbortSignal | undefined, replacement = false): Promise<Token> {
    this.#fetching ??= this.#obtain(replacement).finally(() => {
      this.#fetching = undefined;
    });
    // When nobody waits any more, nobody has to hear of a failure.
    this.#fetching.catch(() => undefined);
    return signal ? orAborted(this.#fetching, signal) : this.#fetching;
  }

  async #obtain(replacement: boolean): Promise<Token> {
    try {
      this.#current = await this.#shared(replacement);
    } catch (error) {
      // The margin before the expiry is there for this: the endpoint is away, and the old token still good.
      const old = this.#current ?? this.#onDisk();
      const away = error instanceof UnavailableError || error instanceof RateLimitedError;
      if (!away || !old || old.value === this.#rejected || old.expiresAt <= this.#clock.now()) throw error;
      this.#current = old;
    }
    this.#options.protect?.(this.#current.value);
    return this.#current;
  }

  #onDisk(): Token | undefined {
    return this.#options.cache?.read(this.#clock.now());
  }

  /** A token of this or another process: whoever has the lock fetches, the others find it on disk. */
  async #shared(replacement: boolean): Promise<Token> {
    const { cache, signal } = this.#options;
    const unlock = await cache?.lock(() => this.#usable(this.#onDisk()) !== undefined, signal);
    try {
      const found = this.#usable(this.#onDisk());
      if (found) return found;
      const token = { ...(await this.#fetch()), ...(replacement ? { replacement } : {}) };
      if (token.staleAt > this.#clock.now()) cache?.write(token);
      return token;
    } finally {
      unlock?.();
    }
  }

  async #fetch(): Promise<Token> {
    const { network, signal, onEvent, userAgent = 'aops', random = Math.random } = this.#options;
    const { maxWaitMilliseconds = retryPolicy.maxWaitMilliseconds } = this.#options;
    const started = this.#clock.now();
    const clock = this.#clock;
    const granted = await requestToken(this.#given, { userAgent, clock, network, signal, maxWaitMilliseconds, random, onEvent });
    // Counted from the request: the answer may have been long on its way.
    const expiresAt = started + granted.lifetime;
    const margin = Math.max(30_000, granted.lifetime / 10);
    return {
      value: granted.value,
      obtainedAt: started,
      expiresAt,
      staleAt: expiresAt - margin > started ? expiresAt - margin : 0,
      ...(granted.scope === undefined ? {} : { scope: granted.scope }),
    };
  }
}
