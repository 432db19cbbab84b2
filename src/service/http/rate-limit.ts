/** A rate limit with fixed windows of whole seconds for each caller, which every response reports in its RateLimit headers. */
import type { Clock } from '../../base/clock.ts';
import { ServiceError } from '../errors.ts';

export interface RateLimit {
  /** Requests per window. */
  limit: number;
  windowSeconds: number;
}

export class RateLimiter {
  readonly #limit: number;
  readonly #windowSeconds: number;
  readonly #clock: Clock;
  /** Requests in the current window, by caller. All windows start at the same time, so that old counts are dropped together. */
  #counts = new Map<string, number>();
  #window = -1;

  constructor(rate: RateLimit, clock: Clock) {
    this.#limit = rate.limit;
    this.#windowSeconds = rate.windowSeconds;
    this.#clock = clock;
  }

  /** Counts a request. Throws 429 `rate_limited` when the caller has reached the limit. */
  take(caller: string): void {
    this.require(caller);
    this.#counts.set(caller, (this.#counts.get(caller) ?? 0) + 1);
  }

  /** Throws 429 `rate_limited` with the headers of this limit when the caller has reached it. Counts nothing. */
  require(caller: string): void {
    const now = this.#turnWindow();
    const count = this.#counts.get(caller) ?? 0;
    if (count >= this.#limit) {
      const wait = Math.max(1, this.#reset() - now);
      throw new ServiceError(
        429,
        'rate_limited',
        `Too many requests; the limit is ${this.#limit} in ${this.#windowSeconds} seconds. Try again in ${wait} s.`,
        {
          headers: { ...this.headers(caller), 'Retry-After': String(wait) },
        },
      );
    }
  }

  /** The three headers with the caller's current values. */
  headers(caller: string): Record<string, string> {
    this.#turnWindow();
    return {
      'RateLimit-Limit': String(this.#limit),
      'RateLimit-Remaining': String(this.#limit - (this.#counts.get(caller) ?? 0)),
      'RateLimit-Reset': String(this.#reset()),
    };
  }

  /** The time in whole seconds, after starting a new window if the last one is over. */
  #turnWindow(): number {
    const now = Math.floor(this.#clock.now() / 1_000);
    const window = Math.floor(now / this.#windowSeconds);
    if (window !== this.#window) {
      this.#window = window;
      this.#counts = new Map();
    }
    return now;
  }

  #reset(): number {
    return (this.#window + 1) * this.#windowSeconds;
  }
}
