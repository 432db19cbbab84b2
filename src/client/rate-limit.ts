/**
 * Rate limits: reading the headers (interface part 8), and a gate that holds requests while nothing remains.
 * Times of the service are compared with its own `Date`, so a wrong local clock changes nothing.
 */
import type { Clock } from '../base/clock.ts';

export type ResponseHeaders = Record<string, string | string[] | undefined>;

/** One value of a header; undici gives a list when it was sent twice. */
export function header(headers: ResponseHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

const wholeNumber = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,16}$/.test(text.trim()) ? Number(text) : undefined;

/** Milliseconds that `Retry-After` asks for: seconds, fractions of them, or an HTTP date; undefined when absent or unusable. */
export function retryAfter(headers: ResponseHeaders, serverNow: number): number | undefined {
  const text = header(headers, 'retry-after')?.trim();
  if (!text) return undefined;
  if (/^\d{1,10}(\.\d+)?$/.test(text)) return Number(text) * 1_000;
  if (!/[A-Za-z]/.test(text)) return undefined;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - serverNow);
}

/** The service's clock in milliseconds, from `Date` (a second's grain), else the local one. */
export function serverTime(headers: ResponseHeaders, localNow: number): number {
  const date = Date.parse(header(headers, 'date') ?? '');
  return Number.isNaN(date) ? localNow : date;
}

/** `RateLimit-Reset` in milliseconds of the service's clock; tolerates delta seconds and milliseconds. */
function resetTime(headers: ResponseHeaders, serverNow: number): number | undefined {
  const value = wholeNumber(header(headers, 'ratelimit-reset'));
  if (value === undefined) return undefined;
  if (value < 1e9) return serverNow + value * 1_000;
  return value > 1e11 ? value : value * 1_000;
}

/** Milliseconds until the window resets, when the headers say so; never negative. */
export function resetWait(headers: ResponseHeaders, localNow: number): number | undefined {
  const now = serverTime(headers, localNow);
  const reset = resetTime(headers, now);
  return reset === undefined ? undefined : Math.max(0, reset - now);
}

/** Holds requests of one credential while its window is used up. */
export class RateGate {
  readonly #clock: Clock;
  #closedUntil = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds that a request has to wait before it may be sent. */
  wait(): number {
    return Math.max(0, this.#closedUntil - this.#clock.now());
  }

  /** Learns from the headers of any response. */
  observe(headers: ResponseHeaders): void {
    if (wholeNumber(header(headers, 'ratelimit-remaining')) !== 0) return;
    const wait = resetWait(headers, this.#clock.now());
    // A second more: the reset is in whole seconds.
    if (wait !== undefined) this.#closedUntil = Math.max(this.#closedUntil, this.#clock.now() + wait + 1_000);
  }
}
