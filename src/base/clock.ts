/** Time as a dependency, so that waits are tested without waiting. */
import { setTimeout as delay } from 'node:timers/promises';

export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds from some moment on, untouched when the time of day is set; `now` where it is left out. */
  steady?(): number;
  /** Resolves after `ms`; rejects with the signal's reason when aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Time to measure waits and deadlines with: it never jumps. Milliseconds. */
export const steadyTime = (clock: Clock): number => clock.steady?.() ?? clock.now();

export const systemClock: Clock = {
  now: () => Date.now(),
  steady: () => performance.now(),
  async sleep(ms, signal) {
    signal?.throwIfAborted();
    try {
      await delay(Math.max(0, ms), undefined, signal ? { signal } : {});
    } catch (error) {
      // timers/promises rejects with its own AbortError; callers want the reason they gave.
      signal?.throwIfAborted();
      throw error;
    }
  },
};
