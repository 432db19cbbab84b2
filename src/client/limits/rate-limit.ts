/** Reads the rate-limit headers (interface part 8). Values that make no sense are treated as missing. */

export type ResponseHeaders = Record<string, string | string[] | undefined>;

/** One value of a header; undici returns a list when it was sent twice. */
export function header(headers: ResponseHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

const days = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
/** The three forms of RFC 9110, 5.6.7; the last one does not name its zone, which is GMT. */
const httpDates = [
  new RegExp(`^${days}, \\d\\d [A-Z][a-z]{2} \\d{4} \\d\\d:\\d\\d:\\d\\d GMT$`),
  new RegExp(`^${days}[a-z]{3,6}, \\d\\d-[A-Z][a-z]{2}-\\d\\d \\d\\d:\\d\\d:\\d\\d GMT$`),
  new RegExp(`^${days} [A-Z][a-z]{2} [ \\d]\\d \\d\\d:\\d\\d:\\d\\d \\d{4}$`),
];

/** An HTTP date in milliseconds since the epoch; undefined for anything else, which Date.parse would guess at. */
export function httpDate(text: string | undefined): number | undefined {
  if (text === undefined || !httpDates.some((form) => form.test(text))) return undefined;
  const time = Date.parse(`${text.replace(/ GMT$/, '')} GMT`);
  return Number.isNaN(time) ? undefined : time;
}

/** Milliseconds that `Retry-After` requests: seconds, fractions of them, or an HTTP date; undefined when absent or unusable. */
export function retryAfter(headers: ResponseHeaders, serverNow: number): number | undefined {
  const text = header(headers, 'retry-after')?.trim();
  if (!text) return undefined;
  // If it was sent twice, the values may be joined in one line; the first one counts.
  const [, seconds] = /^(\d{1,10}(?:\.\d{1,10})?)\s*(?:,|$)/.exec(text) ?? [];
  if (seconds !== undefined) return Number(seconds) * 1_000;
  const date = httpDate(text);
  return date === undefined ? undefined : Math.max(0, date - serverNow);
}

/** The service's time in milliseconds, from `Date` (to the second), or else the local time. */
export function serverTime(headers: ResponseHeaders, localNow: number): number {
  return httpDate(header(headers, 'date')) ?? localNow;
}

/** The rate-limit window according to a response. */
export interface Limits {
  /** Remaining requests. */
  remaining: number;
  /** When it ends, in milliseconds of the service's clock. */
  resetAt: number;
  /** Requests per window, if the service reports it. */
  limit?: number | undefined;
  /** False when the end was sent as a number of seconds from now, which is inaccurate by up to a second. */
  exact: boolean;
}

/** Ends further in the future than this are a mistake of the service. */
export const maxWindow = 24 * 60 * 60 * 1_000;

const wholeNumber = (text: string): number | undefined => (/^\d{1,16}$/.test(text.trim()) ? Number(text) : undefined);

/**
 * The RateLimit headers; undefined when they are absent, or any of them is malformed or absurd. The end of the window is
 * in Unix seconds; Unix milliseconds and seconds from now are understood as well.
 */
export function readLimits(headers: ResponseHeaders, serverNow: number): Limits | undefined {
  const [remaining, reset, limit] = ['ratelimit-remaining', 'ratelimit-reset', 'ratelimit-limit'].map((name) => header(headers, name));
  const remainingCount = wholeNumber(remaining ?? '');
  const end = resetTime(reset, serverNow);
  // Some services append their policy to the number: `100, 100;w=60`.
  const total = wholeNumber(limit?.split(',')[0] ?? '');
  if (remainingCount === undefined || end === undefined || (limit !== undefined && total === undefined)) return undefined;
  return { remaining: remainingCount, limit: total, ...end };
}

/** Milliseconds until the window ends, if `RateLimit-Reset` is usable; never negative. */
export function resetWait(headers: ResponseHeaders, serverNow: number): number | undefined {
  const end = resetTime(header(headers, 'ratelimit-reset'), serverNow);
  return end && Math.max(0, end.resetAt - serverNow);
}

function resetTime(text: string | undefined, serverNow: number): Pick<Limits, 'resetAt' | 'exact'> | undefined {
  const value = wholeNumber(text ?? '');
  if (value === undefined) return undefined;
  const isExact = value >= 1e9;
  const resetAt = isExact ? (value > 1e11 ? value : value * 1_000) : serverNow + value * 1_000;
  return resetAt - serverNow > maxWindow ? undefined : { resetAt, exact: isExact };
}

/** A requested pause plus jitter, so that clients that wait for the same moment do not all return at that moment. */
export const spread = (milliseconds: number, random: () => number): number =>
  milliseconds + Math.round(random() * Math.min(5_000, milliseconds / 10));
