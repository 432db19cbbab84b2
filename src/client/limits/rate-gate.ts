/**
 * Holds back requests of one credential before the service has to reject them. A request takes a unit of the window while
 * it is in flight. When the window is not known (at the start, after its end, and after a 429), one request goes ahead to
 * find out. All times are steady: a wait ends when it should, even if the system time is changed.
 */
import { type Clock, steadyTime } from '../../base/clock.ts';
import { header, type Limits, maxWindow, type ResponseHeaders, readLimits, spread } from './rate-limit.ts';
import { ServerClock } from './server-clock.ts';
import type { SharedLimits } from './shared-limits.ts';

/** Whether a request may be sent now. `busy`: another request has to complete first. */
export type Admission = { next: 'go' } | { next: 'busy' } | { next: 'hold'; milliseconds: number; requestedMilliseconds: number };

/** The remaining allowance of a rate limit. */
export interface Allowance {
  /** Remaining requests, and requests per window. */
  remaining: number;
  limit: number;
  /** Milliseconds until the window ends. */
  milliseconds: number;
}

interface Window extends Limits {
  /** When requests may be sent again; `requestedEnd` is the same without the jitter. */
  end: number;
  requestedEnd: number;
}

/** Resets are in whole seconds, and without a `Date` the service's time is only known to the second. In milliseconds. */
const resolution = 1_000;
/** Timers may end this much early, in milliseconds. */
const timerResolution = 2;
/** Other processes are told when fewer requests than this remain. */
const fewRemaining = 16;
/** How often to read what other processes know, in milliseconds. */
const readInterval = 1_000;

export class RateGate {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #sharedLimits: SharedLimits | undefined;
  readonly server: ServerClock;
  #window: Window | undefined;
  /** After a 429. */
  #closure: { end: number; requestedEnd: number } | undefined;
  /** Whether the service reports no limits. */
  #isUnlimited = false;
  #inFlight = 0;
  #readAt = Number.NEGATIVE_INFINITY;
  #waiters: (() => void)[] = [];

  constructor(clock: Clock, random: () => number, sharedLimits?: SharedLimits) {
    this.#clock = clock;
    this.#random = random;
    this.#sharedLimits = sharedLimits;
    this.server = new ServerClock(clock);
  }

  /** The allowance according to the newest response, until the window ends. */
  get allowance(): Allowance | undefined {
    const now = steadyTime(this.#clock);
    if (this.#window?.limit === undefined || this.#window.end <= now) return undefined;
    const { remaining, limit, end } = this.#window;
    return { remaining, limit, milliseconds: end - now };
  }

  /** Takes a unit if it returns `go`; `leave` returns the unit. */
  enter(): Admission {
    this.#readShared();
    const admission = this.#check(steadyTime(this.#clock));
    if (admission.next === 'go') this.#inFlight += 1;
    return admission;
  }

  /** Call this when the request has completed or failed. */
  leave(): void {
    this.#inFlight -= 1;
    this.#wakeWaiting();
  }

  /** Resolves when a request has completed, or the limits have changed. */
  change(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  /** Learns from the head of a response. Both times are steady. */
  observe(headers: ResponseHeaders, sentAt: number, receivedAt: number): void {
    this.server.observe(header(headers, 'date'), sentAt, receivedAt);
    const limits = readLimits(headers, this.server.now());
    if (limits === undefined) this.#isUnlimited = true;
    else if (limits.resetAt >= this.server.now()) this.#update(limits);
    // A window that had ended before the request was sent means nothing. Any other one ended in the meantime.
    else if (limits.resetAt < this.server.timeAt(sentAt)) this.#isUnlimited = true;
    this.#wakeWaiting();
  }

  /** After a 429: nothing is sent for this long, and then a single request first. */
  close(milliseconds: number): void {
    const now = steadyTime(this.#clock);
    this.#closeUntil(now, milliseconds);
    this.#writeShared({ remaining: 0, resetAt: this.server.now() + milliseconds });
  }

  #closeUntil(now: number, milliseconds: number): void {
    const end = now + spread(milliseconds, this.#random);
    if (this.#closure === undefined || this.#closure.end < end) this.#closure = { end, requestedEnd: now + milliseconds };
  }

  #check(now: number): Admission {
    if (this.#closure !== undefined) {
      if (now < this.#closure.end - timerResolution) return hold(this.#closure, now);
      this.#closure = undefined;
      this.#forget();
    }
    if (this.#window !== undefined && now >= this.#window.end - timerResolution) this.#forget();
    if (this.#window === undefined) return { next: this.#isUnlimited || this.#inFlight === 0 ? 'go' : 'busy' };
    if (this.#window.remaining > this.#inFlight) return { next: 'go' };
    return this.#inFlight > 0 ? { next: 'busy' } : hold(this.#window, now);
  }

  #forget(): void {
    this.#window = undefined;
    this.#isUnlimited = false;
  }

  /** A later end means a new window; within a window, responses may arrive in any order, and the smallest number is the newest. */
  #update(limits: Limits): void {
    const window = this.#window;
    const tolerance = window?.exact && limits.exact ? 0 : 1_500;
    if (window !== undefined && limits.resetAt < window.resetAt - tolerance) return;
    const isSameWindow = window !== undefined && limits.resetAt <= window.resetAt + tolerance;
    if (isSameWindow && limits.remaining >= window.remaining) return;
    this.#window = isSameWindow ? { ...window, remaining: limits.remaining, limit: limits.limit ?? window.limit } : this.#newWindow(limits);
    this.#writeShared(this.#window);
  }

  #newWindow(limits: Limits): Window {
    const now = steadyTime(this.#clock);
    const remaining = limits.resetAt - this.server.now() + (this.server.isKnown ? resolution : 2 * resolution);
    return { ...limits, requestedEnd: now + remaining, end: now + spread(remaining, this.#random) };
  }

  #wakeWaiting(): void {
    for (const wake of this.#waiters.splice(0)) wake();
  }

  #readShared(): void {
    const now = steadyTime(this.#clock);
    if (this.#sharedLimits === undefined || now - this.#readAt < readInterval) return;
    this.#readAt = now;
    const entry = this.#sharedLimits.read(this.#clock.now());
    if (entry === undefined) return;
    this.server.assume(entry.ahead);
    const { remaining, resetAt } = entry;
    const milliseconds = resetAt - this.server.now();
    if (milliseconds < 0 || milliseconds > maxWindow) return;
    // The limit is used up, or a 429 came before the end of the window: either way, nothing may be sent until then.
    if (remaining === 0) this.#closeUntil(now, milliseconds + resolution);
    else this.#update({ remaining, resetAt, exact: true });
  }

  #writeShared({ remaining, resetAt }: Pick<Limits, 'remaining' | 'resetAt'>): void {
    if (this.#sharedLimits === undefined || remaining > fewRemaining) return;
    const seenAt = this.#clock.now();
    this.#sharedLimits.write({ remaining, resetAt, ahead: Math.round(this.server.now() - seenAt), seenAt });
  }
}

const hold = ({ end, requestedEnd }: { end: number; requestedEnd: number }, now: number): Admission => ({
  next: 'hold',
  milliseconds: Math.ceil(end - now),
  requestedMilliseconds: Math.max(0, Math.round(requestedEnd - now)),
});
