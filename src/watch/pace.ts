/** How often to look: fast while things move, slower while nothing does, at once when something is known to come. */
import type { Clock } from '../base/clock.ts';

export interface PaceOptions {
  /** Shortest and longest pause, in milliseconds. */
  minimum?: number;
  maximum?: number;
}

const growth = 1.4;

export class Pace {
  readonly #clock: Clock;
  readonly #minimum: number;
  readonly #maximum: number;
  #interval: number;
  #hurry = new AbortController();

  constructor(clock: Clock, { minimum = 250, maximum = 2_500 }: PaceOptions = {}) {
    this.#clock = clock;
    this.#minimum = minimum;
    this.#maximum = maximum;
    this.#interval = minimum;
  }

  /**
   * Waits before the next look.
   * @param moved whether the last one brought anything
   * @throws the signal's reason
   */
  async pause(moved: boolean, signal: AbortSignal): Promise<void> {
    this.#interval = moved ? this.#minimum : Math.min(this.#maximum, this.#interval * growth);
    const { signal: hurried } = this.#hurry;
    try {
      await this.#clock.sleep(this.#interval, AbortSignal.any([signal, hurried]));
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
}
