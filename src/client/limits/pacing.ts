/**
 * All waits of the HTTP client: for the rate limit, and before another attempt. No wait is started that cannot end before
 * the command's deadline, or that a rate limit requests beyond `--max-wait`.
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
  /** Called when a wait for the rate limit has started, and when all of them have ended. */
  onWaiting: (milliseconds: number) => void;
  onResumed: () => void;
}

export class Pacer {
  readonly #options: PacerOptions;
  /** The number of waits in progress, and the end of the longest one that was reported. */
  #waitCount = 0;
  #reportedUntil = 0;

  constructor(options: PacerOptions) {
    this.#options = options;
  }

  /**
   * Waits until a request may be sent, and reserves its place in the window; the gate's `leave` releases it.
   * @throws RateLimitedError, DeadlineError, or the signal's reason
   */
  async enter(signal: AbortSignal, details: ErrorDetails): Promise<void> {
    const { gate, maxWait } = this.#options;
    for (;;) {
      signal.throwIfAborted();
      const admission = gate.enter();
      if (admission.next === 'go') return;
      if (admission.next === 'busy') {
        await orAborted(gate.change(), signal);
        continue;
      }
      if (admission.requestedMilliseconds > maxWait)
        throw new RateLimitedError(admission.requestedMilliseconds, maxWait, this.#withReset(admission.requestedMilliseconds, details));
      this.#checkDeadline(admission.milliseconds, 'the rate limit is used up', this.#withReset(admission.milliseconds, details));
      await this.#wait(admission.milliseconds, signal);
    }
  }

  /** Waits before another attempt. @throws DeadlineError, or the signal's reason */
  async pause(milliseconds: number, reason: string, signal: AbortSignal, details: ErrorDetails, onStart: () => void): Promise<void> {
    this.#checkDeadline(milliseconds, reason, details);
    onStart();
    await this.#options.clock.sleep(milliseconds, signal);
  }

  #checkDeadline(milliseconds: number, reason: string, details: ErrorDetails): void {
    const { deadline = Number.POSITIVE_INFINITY, clock } = this.#options;
    const remaining = Math.max(0, deadline - steadyTime(clock));
    if (milliseconds >= remaining) throw new DeadlineError(reason, { wait: milliseconds, remaining }, details);
  }

  async #wait(milliseconds: number, signal: AbortSignal): Promise<void> {
    const { clock, onWaiting, onResumed } = this.#options;
    const end = steadyTime(clock) + milliseconds;
    // Many requests may wait for the same moment, which is reported once.
    if (this.#waitCount === 0 || end > this.#reportedUntil) {
      this.#reportedUntil = end;
      onWaiting(milliseconds);
    }
    this.#waitCount += 1;
    try {
      await clock.sleep(milliseconds, signal);
    } finally {
      this.#waitCount -= 1;
      if (this.#waitCount === 0) onResumed();
    }
  }

  #withReset(milliseconds: number, details: ErrorDetails): ErrorDetails {
    const resetAt = new Date(this.#options.clock.now() + milliseconds).toISOString();
    return { ...details, retry_after_seconds: Math.ceil(milliseconds / 1_000), reset_at: resetAt };
  }
}
