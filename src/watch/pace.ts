/**
 * How often to poll: quickly while something happens, more slowly while nothing does, and immediately after a change made here.
 * Makes at most 60 requests in any minute, more only for many runs, and slows down before the rate limit of the credential, which
 * other processes share, is used up.
 */
import { type Clock, steadyTime } from '../base/clock.ts';
import type { Allowance } from '../client/limits/rate-gate.ts';
import { spread } from '../client/limits/rate-limit.ts';

export interface PaceOptions {
  /** Shortest and longest pause, in milliseconds. */
  minimum?: number;
  maximum?: number;
  /** Requests in any minute, for polls that read several things; 60 by default. Catching up with existing data is not included. */
  perMinute?: () => number;
  /** Requests in any minute, including those that catch up with existing data; unlimited by default. */
  maxPerMinute?: number;
  /** Maximum number of requests of a poll; 3 by default. */
  maxPollRequests?: number;
  /** Source of jitter, in [0, 1). */
  random?: () => number;
}

const growthFactor = 1.4;
const minute = 60_000;
/** Requests in any minute while one thing is watched. */
const usualRequests = 60;
/** Maximum number of requests of a poll of one thing. */
const usualMaxPollRequests = 3;
/** The share of the limit after which the pace is steady, so that a run that is always busy is not left alone for most of each minute. */
const burstShare = 3 / 4;
/** Polls that are possible in the rest of a minute after a burst, so that large polls do not stop for most of it either. */
const pollsAfterBurst = 6;
/** The share of the limit below which a new burst may begin. */
const calmShare = 1 / 3;
/** Pause from which on nothing has happened recently, in milliseconds. */
const recentMilliseconds = 1_000;
/** Pause while something else says when there is something to read, in milliseconds. */
const restingPause = 30_000;

export class Pace {
  readonly #clock: Clock;
  readonly #minimum: number;
  readonly #maximum: number;
  readonly #random: () => number;
  readonly #perMinute: () => number;
  readonly #maxPerMinute: number;
  readonly #maxPollRequests: number;
  #interval: number;
  #hurryController = new AbortController();
  /** When the requests of the last minute were made, in steady time, without those that caught up with existing data. */
  #requests: number[] = [];
  /** The same with those. */
  #allRequests: number[] = [];
  #isResting = false;
  #isSteady = false;
  /** Requests since the last pause. */
  #pollRequests = 0;

  constructor(
    clock: Clock,
    {
      minimum = 340,
      maximum = 3_000,
      perMinute = () => usualRequests,
      maxPerMinute = Number.POSITIVE_INFINITY,
      maxPollRequests = usualMaxPollRequests,
      random = Math.random,
    }: PaceOptions = {},
  ) {
    this.#clock = clock;
    this.#minimum = minimum;
    this.#maximum = maximum;
    this.#random = random;
    this.#perMinute = perMinute;
    this.#maxPerMinute = maxPerMinute;
    this.#maxPollRequests = maxPollRequests;
    this.#interval = minimum;
  }

  /**
   * Waits until a request keeps to the limits of a minute, and counts it. Pauses are chosen so that this rarely takes any time.
   * @param catchesUp whether the request catches up with existing data
   * @throws the signal's reason
   */
  async spend(signal: AbortSignal, catchesUp = false): Promise<void> {
    this.#forgetOldRequests();
    const wait = Math.max(
      catchesUp ? 0 : this.#untilBelow(this.#perMinute(), this.#requests),
      this.#untilBelow(this.#maxPerMinute, this.#allRequests),
    );
    if (wait > 0) await this.#clock.sleep(wait, signal);
    const now = steadyTime(this.#clock);
    this.#allRequests.push(now);
    if (catchesUp) return;
    this.#requests.push(now);
    this.#pollRequests += 1;
  }

  /** Milliseconds until fewer of these requests than the limit were made in the last minute. */
  #untilBelow(limit: number, times: readonly number[]): number {
    const time = times.length < limit ? undefined : times[times.length - limit];
    return time === undefined ? 0 : time + minute - steadyTime(this.#clock);
  }

  #forgetOldRequests(): void {
    const start = steadyTime(this.#clock) - minute;
    this.#requests = this.#requests.filter((time) => time > start);
    this.#allRequests = this.#allRequests.filter((time) => time > start);
  }

  /** Whether something happened recently and the requests of this minute are not running low, so that a poll may make two of them. */
  get isQuick(): boolean {
    return !this.#isSteady && this.#interval < recentMilliseconds;
  }

  /** Sets whether something else reports when there is something to read. Pauses are long then. */
  rest(isResting: boolean): void {
    this.#isResting = isResting;
  }

  /**
   * Waits before the next poll.
   * @param hasNews whether the last one found anything new
   * @param allowance the remaining allowance of the rate limit
   * @throws the signal's reason
   */
  async pause(hasNews: boolean, signal: AbortSignal, allowance?: Allowance): Promise<void> {
    this.#interval = hasNews ? this.#minimum : Math.min(this.#maximum, this.#interval * growthFactor);
    const { signal: hurrySignal } = this.#hurryController;
    const requestPause = this.#requestPause();
    const pauseEnd = steadyTime(this.#clock) + requestPause;
    try {
      await this.#clock.sleep(this.#wait(requestPause, allowance), AbortSignal.any([signal, hurrySignal]));
    } catch (error) {
      signal.throwIfAborted();
      if (!hurrySignal.aborted) throw error;
      this.#hurryController = new AbortController();
      this.#interval = this.#minimum;
      // Large polls that follow one another without a pause would use up the minute, and then nothing would be read for most of it.
      const remaining = pauseEnd - steadyTime(this.#clock);
      if (this.#maxPollRequests > usualMaxPollRequests && remaining > 0) await this.#clock.sleep(remaining, signal);
    }
  }

  /** Shortens the current pause, or else the next one, because something that was just done will show. */
  hurry(): void {
    this.#hurryController.abort();
  }

  #wait(requestPause: number, allowance: Allowance | undefined): number {
    if (this.#isResting) return restingPause;
    return stretchedPause(Math.max(this.#interval, requestPause), allowance, this.#random);
  }

  /** The pause that spreads the requests over the minute before its limit is reached, in milliseconds. */
  #requestPause(): number {
    const now = steadyTime(this.#clock);
    // A poll of one thing makes one request or a few; a poll of a list makes one for each page.
    const polled = this.#maxPollRequests > usualMaxPollRequests ? Math.max(1, this.#pollRequests) : 1;
    this.#pollRequests = 0;
    this.#forgetOldRequests();
    const perMinute = this.#perMinute();
    const requests = perMinute < this.#maxPerMinute ? this.#requests : this.#allRequests;
    const { length } = requests;
    // The next poll should not have to wait for the limit, however many requests it makes.
    const maxRequests = perMinute - Math.min(this.#maxPollRequests, Math.floor(perMinute / 4));
    if (length >= Math.min(perMinute * burstShare, maxRequests - pollsAfterBurst * polled)) this.#isSteady = true;
    else if (length < perMinute * calmShare) this.#isSteady = false;
    if (!this.#isSteady) return 0;
    if (length >= maxRequests) return (requests[length - maxRequests] as number) + minute - now;
    const perRequest = Math.max(minute / maxRequests, ((requests[0] as number) + minute - now) / (maxRequests - length));
    return perRequest * Math.min(polled, maxRequests - length);
  }
}

/** The share of a rate limit that is reserved for requests other than polling. */
const reserve = 0.1;

/** Whether so little of the rate limit remains that polling stops until the window ends. */
export const isNearlyUsedUp = ({ remaining, limit }: Allowance): boolean => remaining < limit * reserve;

/** A pause that becomes longer as the rate limit is used up, in milliseconds. */
export function stretchedPause(milliseconds: number, allowance: Allowance | undefined, random: () => number): number {
  if (allowance === undefined) return milliseconds;
  if (isNearlyUsedUp(allowance)) return Math.max(milliseconds, spread(allowance.milliseconds, random));
  const share = allowance.remaining / allowance.limit;
  return milliseconds * (share >= 0.5 ? 1 : share >= 0.25 ? 2 : 4);
}
