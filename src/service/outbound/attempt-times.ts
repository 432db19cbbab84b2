/** When a delivery is tried again. Pure. */

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Waits before the attempts after the first (Standard Webhooks 1.0): ten attempts over a little more than three days. */
const waits = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour];

/** How many attempts a round of the schedule has. */
export const scheduledAttempts = waits.length + 1;

/** The receiver's own wish is kept to, up to this. */
const longestHold = day;
/** A receiver that answers 429 without saying how long is left alone for at least so long. */
const busyWait = minute;

/** Nothing but failures for so long, and at least so many of them, and a subscription is disabled. */
const sustained = { milliseconds: 5 * day, failures: 10 };

/** Shortens all waits of a service alike, for tests and try-outs; 1 as it is. */
export interface Timing {
  scale: number;
  /** 0 to 1, for the jitter. */
  random: () => number;
}

/**
 * Milliseconds until the next attempt, with a jitter of 20 % either way; undefined when `tries` were all there are.
 * @param tries attempts made
 * @param asked what the receiver asked for, in milliseconds
 */
export function nextWait(tries: number, asked: { retryAfter?: number | undefined; busy: boolean }, timing: Timing): number | undefined {
  const wait = waits[tries - 1];
  if (wait === undefined) return undefined;
  const jittered = wait * timing.scale * (0.8 + 0.4 * timing.random());
  return Math.round(Math.max(jittered, holdTime(asked, timing) ?? 0));
}

/** Milliseconds for which the receiver wants nothing at all; undefined when it has no such wish. */
export function holdTime(asked: { retryAfter?: number | undefined; busy: boolean }, timing: Timing): number | undefined {
  if (asked.retryAfter !== undefined) return Math.min(asked.retryAfter, longestHold);
  return asked.busy ? busyWait * timing.scale : undefined;
}

/** Whether an endpoint has failed for long enough to be given up; times in milliseconds. */
export const isSustained = (failures: number, failingSince: number, now: number, { scale }: Timing): boolean =>
  failures >= sustained.failures && now - failingSince >= sustained.milliseconds * scale;

/** Milliseconds of a Retry-After header (RFC 9110, 10.2.3), in seconds or as a date; undefined when it is neither. */
export function retryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * second;
  const date = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
