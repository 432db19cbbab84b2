/**
 * Holds requests of one credential before the service has to refuse them. A request takes a unit of the window while
 * it is in flight; where the window is not known, at the start, after its end and after a 429, one request goes ahead
 * to find out. All times are steady: a wait that has begun ends when it should, whatever happens to the clock.
 */
import { type Clock, steadyTime } from '../../base/clock.ts';
import { header, type Limits, longestWindow, type ResponseHeaders, readLimits, spread } from './rate-limit.ts';
import { ServerClock } from './server-clock.ts';
import type { SharedLimits } from './shared-limits.ts';

/** What a request may do now. `busy`: another one has to come back first. */
export type Look = { next: 'go' } | { next: 'busy' } | { next: 'hold'; milliseconds: number; asked: number };

/** What is left of a rate limit. */
export interface Allowance {
  /** Requests left, and requests in a window. */
  remaining: number;
  limit: number;
  /** Until the window ends. */
  milliseconds: number;
}

interface Window extends Limits {
  /** When a request may be sent again, at the latest; `asked` without the spread. */
  end: number;
  asked: number;
}

/** Resets are whole seconds, and without a `Date` so is what we know of the service's time. Milliseconds. */
const grain = 1_000;
/** Timers may end this much early, in milliseconds. */
const timerGrain = 2;
/** Fewer requests left than this are worth telling other processes of. */
const fewRemaining = 16;
/** How often to ask what other processes know, in milliseconds. */
const askAgain = 1_000;

export class RateGate {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #shared: SharedLimits | undefined;
  readonly server: ServerClock;
  #window: Window | undefined;
  /** After a 429. */
  #closed: { end: number; asked: number } | undefined;
  /** The service tells of no limits. */
  #unlimited = false;
  #inFlight = 0;
  #askedAt = Number.NEGATIVE_INFINITY;
  #waiting: (() => void)[] = [];

  constructor(clock: Clock, random: () => number, shared?: SharedLimits) {
    this.#clock = clock;
    this.#random = random;
    this.#shared = shared;
    this.server = new ServerClock(clock);
  }

  /** What the newest answer said of the window, until it ends. */
  get allowance(): Allowance | undefined {
    const now = steadyTime(this.#clock);
    const { remaining, limit, end } = this.#window ?? {};
    if (remaining === undefined || limit === undefined || end === undefined || end <= now) return undefined;
    return { remaining, limit, milliseconds: end - now };
  }

  /** Takes a unit when the answer is `go`; `leave` gives it back. */
  enter(): Look {
    this.#askOthers();
    const look = this.#look(steadyTime(this.#clock));
    if (look.next === 'go') this.#inFlight += 1;
    return look;
  }

  /** The request has its answer, or will have none. */
  leave(): void {
    this.#inFlight -= 1;
    this.#changed();
  }

  /** Resolves when a request has come back, or something was learned. */
  change(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Learns from the head of an answer. Both times are steady. */
  observe(headers: ResponseHeaders, sentAt: number, receivedAt: number): void {
    this.server.observe(header(headers, 'date'), sentAt, receivedAt);
    const limits = readLimits(headers, this.server.now());
    if (limits === undefined) this.#unlimited = true;
    else if (limits.resetAt >= this.server.now()) this.#learn(limits);
    // Over when it was sent already: there is nothing to go by. Else it is of a window that ended meanwhile.
    else if (limits.resetAt < this.server.at(sentAt)) this.#unlimited = true;
    this.#changed();
  }

  /** A 429 came: nothing is sent for so long, and then one request first. */
  close(milliseconds: number): void {
    const now = steadyTime(this.#clock);
    this.#closeUntil(now, milliseconds);
    this.#tellOthers({ remaining: 0, resetAt: this.server.now() + milliseconds });
  }

  #closeUntil(now: number, milliseconds: number): void {
    const end = now + spread(milliseconds, this.#random);
    if (this.#closed === undefined || this.#closed.end < end) this.#closed = { end, asked: now + milliseconds };
  }

  #look(now: number): Look {
    if (this.#closed !== undefined) {
      if (now < this.#closed.end - timerGrain) return hold(this.#closed, now);
      this.#closed = undefined;
      this.#forget();
    }
    if (this.#window !== undefined && now >= this.#window.end - timerGrain) this.#forget();
    if (this.#window === undefined) return { next: this.#unlimited || this.#inFlight === 0 ? 'go' : 'busy' };
    if (this.#window.remaining > this.#inFlight) return { next: 'go' };
    return this.#inFlight > 0 ? { next: 'busy' } : hold(this.#window, now);
  }

  #forget(): void {
    this.#window = undefined;
    this.#unlimited = false;
  }

  /** A later end is a new window; within one, answers may come in any order, and the smallest number is the newest. */
  #learn(limits: Limits): void {
    const known = this.#window;
    const tolerance = known?.exact && limits.exact ? 0 : 1_500;
    if (known !== undefined && limits.resetAt < known.resetAt - tolerance) return;
    const same = known !== undefined && limits.resetAt <= known.resetAt + tolerance;
    if (same && limits.remaining >= known.remaining) return;
    this.#window = same ? { ...known, remaining: limits.remaining, limit: limits.limit ?? known.limit } : this.#newWindow(limits);
    this.#tellOthers(this.#window);
  }

  #newWindow(limits: Limits): Window {
    const now = steadyTime(this.#clock);
    const left = limits.resetAt - this.server.now() + (this.server.known ? grain : 2 * grain);
    return { ...limits, asked: now + left, end: now + spread(left, this.#random) };
  }

  #changed(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #askOthers(): void {
    const now = steadyTime(this.#clock);
    if (this.#shared === undefined || now - this.#askedAt < askAgain) return;
    this.#askedAt = now;
    const entry = this.#shared.read(this.#clock.now());
    if (entry === undefined) return;
    this.server.assume(entry.ahead);
    const { remaining, resetAt } = entry;
    const left = resetAt - this.server.now();
    if (left < 0 || left > longestWindow) return;
    // Used up, or closed by a 429 before the end of the window: whichever, nothing may be sent until then.
    if (remaining === 0) this.#closeUntil(now, left + grain);
    else this.#learn({ remaining, resetAt, exact: true });
  }

  #tellOthers({ remaining, resetAt }: Pick<Limits, 'remaining' | 'resetAt'>): void {
    if (this.#shared === undefined || remaining > fewRemaining) return;
    const seenAt = this.#clock.now();
    this.#shared.write({ remaining, resetAt, ahead: Math.round(this.server.now() - seenAt), seenAt });
  }
}

const hold = ({ end, asked }: { end: number; asked: number }, now: number): Look => ({
  next: 'hold',
  milliseconds: Math.ceil(end - now),
  asked: Math.max(0, Math.round(asked - now)),
});
