/** A sleep that can be cut short because there is something to do now. */
import type { Clock } from '../base/clock.ts';

export class HurriedSleep {
  readonly #clock: Clock;
  #controller = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Ends the current sleep, or else the next one. */
  hurry(): void {
    this.#controller.abort();
  }

  /** Sleeps, and returns whether that was cut short. @throws the signal's reason */
  async for(milliseconds: number, signal: AbortSignal): Promise<boolean> {
    const { signal: hurrySignal } = this.#controller;
    try {
      await this.#clock.sleep(milliseconds, AbortSignal.any([signal, hurrySignal]));
      return false;
    } catch (error) {
      signal.throwIfAborted();
      if (!hurrySignal.aborted) throw error;
      this.#controller = new AbortController();
      return true;
    }
  }
}
