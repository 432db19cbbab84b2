/**
 * How often to poll: quickly while something happens, more slowly while nothing does, and immediately after a change made here.
 * Makes at most 60 requests in any minute, and slows down before the rate limit of the credential, which other processes share, is
 * used up.
 */
import { type Clock, steadyTime } from '../base/clock.ts';
import type { Allowance } from '../client/limits/rate-gate.ts';
import { spread } from '../client/limits/rate-limit.ts';
import { HurriedSleep } from './hurried-sleep.ts';

export interface PaceOptions {
  /** Shortest and longest pause, in milliseconds. */
  minimum?: number;
  maximum?: number;
  /** Source of jitter, in [0, 1). */
  random?: () => number;
}

const growthFactor = 1.4;
const minute = 60_000;
/** Requests in any minute, without those that catch up with existing data. */
const maxPerMinute = 60;
/** Maximum number of requests of a poll, so that the next one does not have to wait for the limit. */
const maxPollRequests = 3;
/** The share of the limit after which the pace is steady, so that a run that is always busy is not left alone for most of each minute. */
const burstShare = 3 / 4;
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
  readonly #sleep: HurriedSleep;
  #interval: number;
  /** When the requests of the last minute were made, in steady time, without those that caught up with existing data. */
  #requests: number[] = [];
  #isResting = false;
  #isSteady = false;

  constructor(clock: Clock, { minimum = 340, maximum = 3_000, random = Math.random }: PaceOptions = {}) {
    this.#clock = clock;
    this.#minimum = minimum;
    this.#maximum = maximum;
    this.#random = random;
    this.#sleep = new HurriedSleep(clock);
    this.#interval = minimum;
  }

  /**
   * Waits until a request keeps to the limit of a minute, and counts it. Pauses are chosen so that this rarely takes any time.
   * @param catchesUp whether the request catches up with existing data, which does not count
   * @throws the signal's reason
   */
  async spend(signal: AbortSignal, catchesUp = false): Promise<void> {
    if (catchesUp) return;
    this.#forgetOldRequests();
    const oldest = this.#requests.length < maxPerMinute ? undefined : this.#requests[this.#requests.length - maxPerMinute];
    const wait = oldest === undefined ? 0 : oldest + minute - steadyTime(this.#clock);
    if (wait > 0) await this.#clock.sleep(wait, signal);
    this.#requests.push(steadyTime(this.#clock));
  }

  #forgetOldRequests(): void {
    const start = steadyTime(this.#clock) - minute;
    this.#requests = this.#requests.filter((time) => time > start);
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
    const isHurried = await this.#sleep.for(this.#wait(this.#requestPause(), allowance), signal);
    if (isHurried) this.#interval = this.#minimum;
  }

  /** Shortens the current pause, or else the next one, because something that was just done will show. */
  hurry(): void {
    this.#sleep.hurry();
  }

  #wait(requestPause: number, allowance: Allowance | undefined): number {
    if (this.#isResting) return restingPause;
    return stretchedPause(Math.max(this.#interval, requestPause), allowance, this.#random);
  }

  /** The pause that spreads the requests over the minute before its limit is reached, in milliseconds. */
  #requestPause(): number {
    const now = steadyTime(this.#clock);
    this.#forgetOldRequests();
    const { length } = this.#requests;
    // The next poll should not have to wait for the limit, however many requests it makes.
    const maxRequests = maxPerMinute - maxPollRequests;
    if (length >= maxPerMinute * burstShare) this.#isSteady = true;
    else if (length < maxPerMinute * calmShare) this.#isSteady = false;
    if (!this.#isSteady) return 0;
    if (length >= maxRequests) return (this.#requests[length - maxRequests] as number) + minute - now;
    return Math.max(minute / maxRequests, ((this.#requests[0] as number) + minute - now) / (maxRequests - length));
  }
}

/** The share of a rate limit that is reserved for requests other than polling. */
const reserve = 0.1;

/** Whether so little of the rate limit remains that polling stops until the window ends. */
export const isNearlyUsedUp = ({ remaining, limit }: Allowance): boolean => remaining < limit * reserve;

/** Polling, as far as its pace is concerned. */
export type Pacing = Pick<Pace, 'spend' | 'pause' | 'isQuick'>;

/** How much longer pauses are as the rate limit is used up. */
export function stretchFactor(allowance: Allowance | undefined): number {
  if (allowance === undefined) return 1;
  const share = allowance.remaining / allowance.limit;
  return share >= 0.5 ? 1 : share >= 0.25 ? 2 : 4;
}

/** A pause that becomes longer as the rate limit is used up, in milliseconds. */
export function stretchedPause(milliseconds: number, allowance: Allowance | undefined, random: () => number): number {
  if (allowance !== undefined && isNearlyUsedUp(allowance)) return Math.max(milliseconds, spread(allowance.milliseconds, random));
  return milliseconds * stretchFactor(allowance);
}
