/** Back-off with full jitter, and the constants of the retry policy. */

export const retryPolicy = {
  /** Retries after the first attempt. */
  retries: 3,
  baseMilliseconds: 500,
  capMilliseconds: 8_000,
  /** Longest pause that a rate limit may request, unless `--max-wait` is set. */
  maxWaitMilliseconds: 60_000,
  /** Longest time one attempt may take, body included. */
  attemptMilliseconds: 30_000,
} as const;

/** Milliseconds to wait before retry `retry` (0 for the first): random(0, min(cap, base * 2^retry)), never under 25 ms. */
export function backoff(retry: number, random: () => number): number {
  const ceiling = Math.min(retryPolicy.capMilliseconds, retryPolicy.baseMilliseconds * 2 ** retry);
  return Math.max(25, Math.round(random() * ceiling));
}
