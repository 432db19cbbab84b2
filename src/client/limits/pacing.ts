/**
 * Every wait of the HTTP core: for a turn at the rate limit, and before another attempt. No wait is begun that cannot
 * end before the command's deadline, or that a rate limit asks for beyond `--max-wait`.
 */

import { orAborted } from '../../base/abort.ts';
import { type Clock, steadyTime } from '../../base/clock.ts';
import type { ErrorDetails } from '../../base/errors.ts';
import { DeadlineError, RateLimitedError } from '../errors.ts';
import type { RateGate } from './rate-gate.ts';

export interface PacerOptions {
  clock: Clock;
  gate: RateGate;
  /** Milliseconds. */
  maxWait: number;
  /** In steady time. */
  deadline: number | undefined;
  /** A wait for the rate limit has begun, or all of them have ended. */
  onWaiting: (milliseconds: number) => void;
  onResumed: () => void;
}

export class Pacer {
  readonly #options: PacerOptions;
  /** Waits that are going on, and the end of the longest that was told of. */
  #waits = 0;
  #toldUntil = 0;

  constructor(options: PacerOptions) {
    this.#options = options;
  }

  /**
   * Waits until a request may be sent, and takes its place in the window; `leave` of the gate gives it back.
   * @throws RateLimitedError, DeadlineError, or the signal's reason
   */
  async enter(signal: AbortSignal, details: ErrorDetails): Promise<void> {
    const { gate, maxWait } = this.#options;
    for (;;) {
      signal.throwIfAborted();
      const look = gate.enter();
      if (look.next === 'go') return;
      if (look.next === 'busy') {
        await orAborted(gate.change(), signal);
        continue;
      }
      if (look.asked > maxWait) throw new RateLimitedError(look.asked, maxWait, this.#withReset(look.asked, details));
      this.#checkDeadline(look.milliseconds, 'the rate limit is used up', this.#withReset(look.milliseconds, details));
      await this.#hold(look.milliseconds, signal);
    }
  }

  /** Waits before another attempt. @throws DeadlineError, or the signal's reason */
  async pause(milliseconds: number, reason: string, signal: AbortSignal, details: ErrorDetails, tell: () => void): Promise<void> {
    this.#checkDeadline(milliseconds, reason, details);
    tell();
    await this.#options.clock.sleep(milliseconds, signal);
  }

  #checkDeadline(milliseconds: number, reason: string, details: ErrorDetails): void {
    const { deadline, clock } = this.#options;
    if (deadline === undefined) return;
    const left = Math.max(0, deadline - steadyTime(clock));
    if (milliseconds >= left) throw new DeadlineError(reason, { wait: milliseconds, left }, details);
  }

  async #hold(milliseconds: number, signal: AbortSignal): Promise<void> {
    const { clock, onWaiting, onResumed } = this.#options;
    const until = steadyTime(clock) + milliseconds;
    // Many requests may wait for one moment; it is told once.
    if (this.#waits === 0 || until > this.#toldUntil) {
      this.#toldUntil = until;
      onWaiting(milliseconds);
    }
    this.#waits += 1;
    try {
      await clock.sleep(milliseconds, signal);
    } finally {
      this.#waits -= 1;
      if (this.#waits === 0) onResumed();
    }
  }

  #withReset(milliseconds: number, details: ErrorDetails): ErrorDetails {
    const resetAt = new Date(this.#options.clock.now() + milliseconds).toISOString();
    return { ...details, retry_after_seconds: Math.ceil(milliseconds / 1_000), reset_at: resetAt };
  }
}
