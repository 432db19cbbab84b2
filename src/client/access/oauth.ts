/**
 * The credential of OAuth 2.0 clients: a token is fetched when it is first needed, once for all requests and processes
 * that wait for it, cached until shortly before it expires, and replaced once when the service rejects it.
 */
import { orAborted } from '../../base/abort.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { AopsError, exitCodes } from '../../base/errors.ts';
import type { ClientEvent } from '../client.ts';
import type { Network } from '../network/network.ts';
import { retryPolicy } from '../retry-policy.ts';
import type { Credential } from './credential.ts';
import type { Token, TokenCache } from './token-cache.ts';
import { basicPair, type ClientCredentials, requestToken } from './token-request.ts';

export type { ClientCredentials } from './token-request.ts';

export interface TokenOptions {
  userAgent?: string;
  clock?: Clock;
  network?: Network;
  /** The command's signal, which ends a fetch that several requests wait for. */
  signal?: AbortSignal;
  /** Longest pause that the token endpoint may request, in milliseconds. */
  maxWaitMilliseconds?: number;
  /** Cache shared with other processes; without it a token is known to this process only. */
  cache?: TokenCache;
  /** Called with every value that must not be shown. */
  protect?: (secret: string) => void;
  onEvent?: (event: ClientEvent) => void;
  /** Source of jitter, in [0, 1). */
  random?: () => number;
}

/** A rejected replacement is not replaced again for this long: the service then rejects the client, not the token. */
const replacementMilliseconds = 60_000;

export function clientCredential(credentials: ClientCredentials, options: TokenOptions = {}): Credential {
  const source = new TokenSource(credentials, options);
  return {
    authorization: async (signal) => bearer(await source.token(signal)),
    refresh: (rejectedToken, signal) => source.replace(rejectedToken, signal),
  };
}

const bearer = ({ value }: Token): string => `Bearer ${value}`;

class TokenSource {
  readonly #credentials: ClientCredentials;
  readonly #options: TokenOptions;
  readonly #clock: Clock;
  #current: Token | undefined;
  #fetching: Promise<Token> | undefined;
  /** The last token that the service rejected. */
  #rejectedToken: string | undefined;

  constructor(credentials: ClientCredentials, options: TokenOptions) {
    this.#credentials = credentials;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    options.protect?.(credentials.client_secret);
    options.protect?.(basicPair(credentials));
  }

  /** A token that is not known to be rejected. */
  async token(signal: AbortSignal | undefined): Promise<Token> {
    const token = this.#ifUsable(this.#current) ?? this.#ifUsable(this.#readCache());
    if (token === undefined) return this.#fetchOnce(signal);
    this.#options.protect?.(token.value);
    this.#current = token;
    return token;
  }

  /** Replaces a token that the service rejected. Resolves to whether there is a new one to try. */
  async replace(rejectedToken: string, signal: AbortSignal | undefined): Promise<boolean> {
    const currentToken = this.#current;
    // Another request has already got a new one.
    if (currentToken && bearer(currentToken) !== rejectedToken) return true;
    const value = rejectedToken.replace(/^Bearer /, '');
    if (currentToken?.replacement === true && this.#clock.now() - currentToken.obtainedAt < replacementMilliseconds) return false;
    this.#rejectedToken = value;
    const token = await this.#fetchOnce(signal, true);
    if (token.value !== value) return true;
    // The endpoint returned the same token again, so the token was not the problem, and there is no reason to avoid it.
    this.#rejectedToken = undefined;
    return false;
  }

  #ifUsable(token: Token | undefined): Token | undefined {
    return token && token.staleAt > this.#clock.now() && token.value !== this.#rejectedToken ? token : undefined;
  }

  /** One fetch for all waiting requests; each of them can stop waiting. */
  #fetchOnce(signal: AbortSignal | undefined, replacement = false): Promise<Token> {
    this.#fetching ??= this.#obtain(replacement).finally(() => {
      this.#fetching = undefined;
    });
    return signal ? orAborted(this.#fetching, signal) : this.#fetching;
  }

  async #obtain(replacement: boolean): Promise<Token> {
    try {
      this.#current = await this.#obtainShared(replacement);
    } catch (error) {
      // The margin before expiry exists for this case: the endpoint is unavailable, and the old token is still valid.
      const oldToken = this.#current ?? this.#readCache();
      const isUnavailable = error instanceof AopsError && (error.exit === exitCodes.unavailable || error.exit === exitCodes.rateLimited);
      if (!isUnavailable || !oldToken || oldToken.value === this.#rejectedToken || oldToken.expiresAt <= this.#clock.now()) throw error;
      this.#current = oldToken;
    }
    this.#options.protect?.(this.#current.value);
    return this.#current;
  }

  #readCache(): Token | undefined {
    return this.#options.cache?.read(this.#clock.now());
  }

  /** A token shared between processes: the one with the lock fetches it, and the others find it on disk. */
  async #obtainShared(replacement: boolean): Promise<Token> {
    const { cache, signal } = this.#options;
    const unlock = await cache?.lock(() => this.#ifUsable(this.#readCache()) !== undefined, signal);
    try {
      const cachedToken = this.#ifUsable(this.#readCache());
      if (cachedToken) return cachedToken;
      const token = { ...(await this.#fetch()), replacement };
      if (token.staleAt > this.#clock.now()) cache?.write(token);
      return token;
    } finally {
      unlock?.();
    }
  }

  async #fetch(): Promise<Token> {
    const { network, signal, onEvent, userAgent = 'aops', random = Math.random } = this.#options;
    const { maxWaitMilliseconds = retryPolicy.maxWaitMilliseconds } = this.#options;
    const requestedAt = this.#clock.now();
    const clock = this.#clock;
    const grantedToken = await requestToken(this.#credentials, { userAgent, clock, network, signal, maxWaitMilliseconds, random, onEvent });
    // Counted from the request, because the answer may have taken long to arrive.
    const expiresAt = requestedAt + grantedToken.lifetime;
    const margin = Math.max(30_000, grantedToken.lifetime / 10);
    return {
      value: grantedToken.value,
      obtainedAt: requestedAt,
      expiresAt,
      staleAt: expiresAt - margin,
      ...(grantedToken.scope === undefined ? {} : { scope: grantedToken.scope }),
    };
  }
}
