/**
 * Spreads requests evenly: at most 300 in any minute, of which a few may follow one another immediately. As the rate limit of the
 * credential is used up, which other commands share, they become rarer.
 */
import { type Clock, steadyTime } from '../../base/clock.ts';

/** Requests in any minute. */
export const maxRequestsPerMinute = 300;
/** Requests that may be made at once after a quiet time. */
const maxBurst = 30;
/** Milliseconds between requests, so that these and a burst keep to the limit in any minute. */
export const requestGap = 60_000 / (maxRequestsPerMinute - maxBurst);

export class RequestBudget {
  readonly #clock: Clock;
  readonly #stretch: () => number;
  /** When all requests so far would have been made one after the other, in steady time. */
  #evenTime = Number.NEGATIVE_INFINITY;

  /** @param stretch how much rarer requests are, because of the rate limit */
  constructor(clock: Clock, stretch: () => number) {
    this.#clock = clock;
    this.#stretch = stretch;
  }

  /** Waits until a request may be made. Several callers are served in the order of their calls. @throws the signal's reason */
  async spend(signal: AbortSignal): Promise<void> {
    const now = steadyTime(this.#clock);
    const wait = this.#evenTime - now - (maxBurst - 1) * requestGap;
    this.#evenTime = Math.max(this.#evenTime, now) + requestGap * this.#stretch();
    if (wait > 0) await this.#clock.sleep(wait, signal);
  }
}
