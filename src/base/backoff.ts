/** Waits between attempts. */

const baseMilliseconds = 500;
const capMilliseconds = 8_000;

/** Milliseconds to wait before retry `retry` (0 for the first), with full jitter: random(0, min(cap, base * 2^retry)), never under 25 ms. */
export function backoff(retry: number, random: () => number): number {
  const ceiling = Math.min(capMilliseconds, baseMilliseconds * 2 ** retry);
  return Math.max(25, Math.round(random() * ceiling));
}
