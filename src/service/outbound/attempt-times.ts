/** When a delivery is retried. Pure. */

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** The waits before the attempts after the first (Standard Webhooks 1.0): ten attempts over slightly more than three days. */
const delays = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour];

/** The number of attempts in a round of the schedule. */
export const scheduledAttempts = delays.length + 1;

/** The maximum wait that a receiver can request. */
const maxRetryAfter = day;
/** The minimum wait after a 429 response that does not specify one. */
const busyWait = minute;

/** A subscription is disabled after at least this many failures over this time, without a success. */
const sustainedFailure = { milliseconds: 5 * day, failures: 10 };

/** Scales all waits of a service, for tests and trials; 1 leaves them unchanged. */
export interface Timing {
  scale: number;
  /** 0 to 1, for the jitter. */
  random: () => number;
}

/**
 * Milliseconds until the next attempt, with a jitter of 20 % either way; undefined when there are no attempts left after `tries`.
 * @param tries the number of attempts so far
 * @param request what the receiver requested, in milliseconds
 */
export function nextWait(tries: number, request: { retryAfter?: number | undefined; isBusy: boolean }, timing: Timing): number | undefined {
  const wait = delays[tries - 1];
  if (wait === undefined) return undefined;
  const delay = wait * timing.scale * (0.8 + 0.4 * timing.random());
  return Math.round(Math.max(delay, holdTime(request, timing) ?? 0));
}

/** The milliseconds for which the receiver does not want any requests; undefined if it did not request a pause. */
export function holdTime(request: { retryAfter?: number | undefined; isBusy: boolean }, timing: Timing): number | undefined {
  if (request.retryAfter !== undefined) return Math.min(request.retryAfter, maxRetryAfter);
  return request.isBusy ? busyWait * timing.scale : undefined;
}

/** Whether an endpoint has failed for long enough to be disabled; times in milliseconds. */
export const isSustained = (failures: number, failingSince: number, now: number, { scale }: Timing): boolean =>
  failures >= sustainedFailure.failures && now - failingSince >= sustainedFailure.milliseconds * scale;

/** The milliseconds of a Retry-After header (RFC 9110, 10.2.3) in seconds or as a date; undefined if it is neither. */
export function retryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * second;
  const date = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
