import type { Clock } from '../../../src/base/clock.ts';

/** A clock that stands still until it is told to go on. Sleeps end when it passes their time. */
export class ManualClock implements Clock {
  #now: number;
  #sleepers = new Set<{ until: number; wake: () => void }>();

  constructor(now = Date.parse('2026-07-18T09:00:00.000Z')) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  set(now: number): void {
    // Who sleeps does not wait for the time of day: a clock that is set back prolongs no sleep.
    if (now < this.#now) for (const sleeper of this.#sleepers) sleeper.until -= this.#now - now;
    this.#now = now;
    for (const sleeper of [...this.#sleepers]) if (sleeper.until <= now) sleeper.wake();
  }

  advance(ms: number): void {
    this.set(this.#now + ms);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        this.#sleepers.delete(sleeper);
        reject(signal?.reason);
      };
      const sleeper = {
        until: this.#now + ms,
        wake: () => {
          this.#sleepers.delete(sleeper);
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#sleepers.add(sleeper);
    });
  }
}
