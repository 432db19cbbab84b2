import type { Clock } from '../../../src/base/clock.ts';

/** A clock that stands still until it is told to go on. Sleeps end when it passes their time. */
export class ManualClock implements Clock {
  /** How often somebody went to sleep. */
  sleeps = 0;
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
    this.sleeps += 1;
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
      // It shows that time already, as after a jump in the middle of something.
      if (ms <= 0) setImmediate(sleeper.wake);
    });
  }
}

/**
 * Waits until a condition holds, while time advances by at most this many milliseconds in total. A loop that had gone to rest just before the
 * clock was set needs some.
 */
export async function within(milliseconds: number, clock: ManualClock, isSo: () => Promise<boolean>): Promise<void> {
  const step = milliseconds / 10;
  const end = clock.now() + milliseconds;
  for (let attempt = 1; !(await isSo()); attempt++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (attempt % 20 === 0 && clock.now() + step <= end) clock.advance(step);
  }
}
