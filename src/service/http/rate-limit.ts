/** A rate limit with fixed windows of whole seconds for each caller, which every response reports in its RateLimit headers. */
import type { Clock } from '../../base/clock.ts';
import { ServiceError } from '../errors.ts';

export interface RateLimit {
  /** Requests per window. */
  limit: number;
  windowSeconds: number;
}

export abstract class RateLimiter {
  protected readonly limit: number;
  readonly #windowSeconds: number;
  readonly #clock: Clock;
  #window = -1;

  constructor(rate: RateLimit, clock: Clock) {
    this.limit = rate.limit;
    this.#windowSeconds = rate.windowSeconds;
    this.#clock = clock;
  }

  /** Counts a request. Throws 429 `rate_limited` when the caller has reached the limit. */
  abstract take(caller: string): void | Promise<void>;

  /** The three headers with the caller's current values. */
  headers(caller: string): Record<string, string> {
    this.turnWindow();
    return {
      'RateLimit-Limit': String(this.limit),
      'RateLimit-Remaining': String(this.limit - this.countOf(caller)),
      'RateLimit-Reset': String(this.#reset()),
    };
  }

  /** Requests of the caller in the current window. */
  protected abstract countOf(caller: string): number;

  /** Forgets all counts. All windows start at the same time, so that old counts are dropped together. */
  protected abstract forget(): void;

  /** Starts a new window if the last one is over. Returns when the window ends, in milliseconds. */
  protected turnWindow(): number {
    const window = Math.floor(this.#seconds() / this.#windowSeconds);
    if (window !== this.#window) {
      this.#window = window;
      this.forget();
    }
    return this.#reset() * 1_000;
  }

  /** The error for a caller who has reached the limit, with the headers of this limit. */
  protected refusal(caller: string): ServiceError {
    const wait = Math.max(1, this.#reset() - this.#seconds());
    return new ServiceError(
      429,
      'rate_limited',
      `Too many requests; the limit is ${this.limit} in ${this.#windowSeconds} seconds. Try again in ${wait} s.`,
      { headers: { ...this.headers(caller), 'Retry-After': String(wait) } },
    );
  }

  #seconds(): number {
    return Math.floor(this.#clock.now() / 1_000);
  }

  #reset(): number {
    return (this.#window + 1) * this.#windowSeconds;
  }
}

/** The rate limit of a service that is one process. */
export class LocalRateLimiter extends RateLimiter {
  #counts = new Map<string, number>();

  override take(caller: string): void {
    this.turnWindow();
    const count = this.countOf(caller);
    if (count >= this.limit) throw this.refusal(caller);
    this.#counts.set(caller, count + 1);
  }

  protected override countOf(caller: string): number {
    return this.#counts.get(caller) ?? 0;
  }

  protected override forget(): void {
    this.#counts = new Map();
  }
}
