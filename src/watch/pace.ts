/**
 * How often to poll: fast while something happens, slower while nothing does, at once when something is known to have happened.
 * Never more than 60 requests in any minute, and slower before the rate limit of the credential is used up, of which others take too.
 */
import { type Clock, steadyTime } from '../base/clock.ts';
import type { Allowance } from '../client/limits/rate-gate.ts';
import { spread } from '../client/limits/rate-limit.ts';

export interface PaceOptions {
  /** Shortest and longest pause, in milliseconds. */
  minimum?: number;
  maximum?: number;
  /** Source of jitter, in [0, 1). */
  random?: () => number;
}

const growth = 1.4;
const minute = 60_000;
/** Requests of a minute that may follow one another quickly; the others of it are spread over what is left of it. */
const quick = 30;
/** Requests in a minute. A look may make a few, so this is less than the 60 that are promised. */
const most = 57;
/** Pause while something else says when there is something to read, in milliseconds. */
const restingPause = 30_000;

export class Pace {
  readonly #clock: Clock;
  readonly #minimum: number;
  readonly #maximum: number;
  readonly #random: () => number;
  #interval: number;
  #hurry = new AbortController();
  /** When the requests of the last minute were made, in steady time. */
  #requests: number[] = [];
  #resting = false;

  constructor(clock: Clock, { minimum = 300, maximum = 3_000, random = Math.random }: PaceOptions = {}) {
    this.#clock = clock;
    this.#minimum = minimum;
    this.#maximum = maximum;
    this.#random = random;
    this.#interval = minimum;
  }

  /** Counts a request. */
  spend(): void {
    this.#requests.push(steadyTime(this.#clock));
  }

  /** Whether something else says when to look: pauses are long then. */
  rest(resting: boolean): void {
    this.#resting = resting;
  }

  /**
   * Waits before the next look.
   * @param moved whether the last one brought anything
   * @param allowance what is left of the rate limit
   * @throws the signal's reason
   */
  async pause(moved: boolean, signal: AbortSignal, allowance?: Allowance): Promise<void> {
    this.#interval = moved ? this.#minimum : Math.min(this.#maximum, this.#interval * growth);
    const { signal: hurried } = this.#hurry;
    try {
      await this.#clock.sleep(this.#wait(allowance), AbortSignal.any([signal, hurried]));
    } catch (error) {
      signal.throwIfAborted();
      if (!hurried.aborted) throw error;
      this.#hurry = new AbortController();
      this.#interval = this.#minimum;
    }
  }

  /** Ends the pause that is going on, or lets the next one pass: something has just been done that will show. */
  hurry(): void {
    this.#hurry.abort();
  }

  #wait(allowance: Allowance | undefined): number {
    if (this.#resting) return restingPause;
    return stretched(Math.max(this.#interval, this.#share()), allowance, this.#random);
  }

  /** The pause that keeps the requests of any minute below their number, in milliseconds. */
  #share(): number {
    const now = steadyTime(this.#clock);
    this.#requests = this.#requests.filter((time) => time > now - minute);
    const { length } = this.#requests;
    if (length < quick) return 0;
    if (length >= most) return (this.#requests[length - most] as number) + minute - now;
    return ((this.#requests[0] as number) + minute - now) / (most - length);
  }
}

/** The part of a rate limit that is left for whoever does more than poll. */
const reserve = 0.1;

/** Whether so little is left of the rate limit that polling stops until the window ends. */
export const isNearlyUsedUp = ({ remaining, limit }: Allowance): boolean => remaining < limit * reserve;

/** A pause that is the longer the less is left of the rate limit, in milliseconds. */
export function stretched(milliseconds: number, allowance: Allowance | undefined, random: () => number): number {
  if (allowance === undefined) return milliseconds;
  if (isNearlyUsedUp(allowance)) return Math.max(milliseconds, spread(allowance.milliseconds, random));
  const left = allowance.remaining / allowance.limit;
  return milliseconds * (left >= 0.5 ? 1 : left >= 0.25 ? 2 : 4);
}
