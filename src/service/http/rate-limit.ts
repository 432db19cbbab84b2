/** A fixed window of whole seconds for each caller; what every response says of it in its RateLimit headers. */
import type { Clock } from '../../base/clock.ts';
import { ServiceError } from '../errors.ts';

export interface RateLimit {
  /** Requests in a window. */
  limit: number;
  windowSeconds: number;
}

export class RateLimiter {
  readonly #limit: number;
  readonly #windowSeconds: number;
  readonly #clock: Clock;
  /** Requests in the current window, by caller. All windows begin together, so that old ones are forgotten at once. */
  #counts = new Map<string, number>();
  #window = -1;

  constructor(rate: RateLimit, clock: Clock) {
    this.#limit = rate.limit;
    this.#windowSeconds = rate.windowSeconds;
    this.#clock = clock;
  }

  /** Counts a request. Throws 429 `rate_limited` when the caller has none left. */
  take(caller: string): void {
    this.require(caller);
    this.#counts.set(caller, (this.#counts.get(caller) ?? 0) + 1);
  }

  /** Throws 429 `rate_limited` when the caller has none left, and counts nothing. Its headers are those of this limit. */
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

  /** The three headers, as they stand for the caller. */
  headers(caller: string): Record<string, string> {
    this.#turnWindow();
    return {
      'RateLimit-Limit': String(this.#limit),
      'RateLimit-Remaining': String(this.#limit - (this.#counts.get(caller) ?? 0)),
      'RateLimit-Reset': String(this.#reset()),
    };
  }

  /** The time in whole seconds, after forgetting a window that is over. */
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
