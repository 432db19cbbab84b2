/** Simulated time for tests of how often something is polled. */

/** A clock with many sleepers, which advances to the one that wakes first. */
export class SharedTime {
  time = Date.parse('2026-07-18T09:00:00.000Z');
  readonly #sleepers: { until: number; order: number; wake: () => void }[] = [];
  #order = 0;

  now = (): number => this.time;

  sleep = (milliseconds: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = (): void => reject(signal?.reason);
      signal?.addEventListener('abort', onAbort, { once: true });
      const wake = (): void => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      this.#sleepers.push({ until: this.time + milliseconds, order: this.#order++, wake });
    });

  /** Advances the time, waking every sleeper in turn. */
  async goTo(end: number): Promise<void> {
    for (;;) {
      // Sleepers that were woken go back to sleep first.
      for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      this.#sleepers.sort((a, b) => a.until - b.until || a.order - b.order);
      const next = this.#sleepers[0];
      if (next === undefined || next.until > end) break;
      this.#sleepers.shift();
      this.time = Math.max(this.time, next.until);
      next.wake();
    }
    this.time = end;
  }
}

/**
 * The maximum number of requests in any minute.
 * @param times when they were made, in ascending order
 */
export function maxPerMinute(times: readonly number[]): number {
  let maximum = 0;
  for (let first = 0, end = 0; end < times.length; ) {
    end += 1;
    while ((times[first] as number) <= (times[end - 1] as number) - 60_000) first += 1;
    maximum = Math.max(maximum, end - first);
  }
  return maximum;
}
