/** Time as a dependency, so that waits are tested without waiting. */
// biome-ignore lint/style/noRestrictedImports: a clock is not part of this process, and the global `performance` loads all of node:perf_hooks
import process from 'node:process';

export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds since an arbitrary moment, not affected when the system time is set; `now` is used when this is left out. */
  steady?(): number;
  /** Resolves after `ms`; rejects with the signal's reason when aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Monotonic time for measuring waits and deadlines, in milliseconds. */
export const steadyTime = (clock: Clock): number => clock.steady?.() ?? clock.now();

/** Maximum delay that the timers of Node accept: 24 days. */
const maxTimerDelay = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  steady: () => {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1e3 + nanoseconds / 1e6;
  },
  // Not timers/promises: it creates an error with a stack trace for each sleep that is cut short, and most are.
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const onTime = (): void => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      const timer = setTimeout(onTime, Math.min(maxTimerDelay, Math.max(0, ms)));
      signal?.addEventListener('abort', onAbort, { once: true });
    }),
};
