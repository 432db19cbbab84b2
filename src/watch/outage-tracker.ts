/** Tracks outages of a service that is being watched, such as a restart or a short network failure. */
import { type Clock, steadyTime } from '../base/clock.ts';
import { AopsError, exitCodes } from '../base/errors.ts';
import { ServiceAnswerError, UnavailableError } from '../client/errors.ts';

/** A period in which the service cannot be reached. */
export interface Outage {
  /** When the first request failed, in milliseconds since the epoch. */
  since: number;
  /** Why it failed, as a sentence. */
  reason: string;
}

/** How long an outage may last before watching ends, in milliseconds. */
export const maxOutageMilliseconds = 60_000;

export class OutageTracker {
  readonly #clock: Clock;
  readonly #report: (outage: Outage | undefined) => void;
  readonly #waitsIndefinitely: () => boolean;
  #answered = false;
  #began: { steady: number; now: number } | undefined;
  #failures = 0;

  /**
   * @param report called once when the service has failed to answer twice in a row, and once with undefined when it answers again
   * @param waitsIndefinitely whether an outage of any length is tolerated at the moment
   */
  constructor(
    clock: Clock,
    report: (outage: Outage | undefined) => void = () => undefined,
    waitsIndefinitely: () => boolean = () => false,
  ) {
    this.#clock = clock;
    this.#report = report;
    this.#waitsIndefinitely = waitsIndefinitely;
  }

  /** Call this when the service has answered. Returns whether it had failed to before. */
  answered(): boolean {
    const wasUnreachable = this.#began !== undefined;
    if (this.#failures > 1) this.#report(undefined);
    this.#answered = true;
    this.#began = undefined;
    this.#failures = 0;
    return wasUnreachable;
  }

  /** Whether the error may be part of a short outage, so that watching can continue. */
  tolerates(error: unknown): boolean {
    if (!(error instanceof AopsError) || error.exit !== exitCodes.unavailable || this.#isLasting(error)) return false;
    const steady = steadyTime(this.#clock);
    this.#began ??= { steady, now: this.#clock.now() };
    if (steady - this.#began.steady > maxOutageMilliseconds && !this.#waitsIndefinitely()) return false;
    this.#failures += 1;
    if (this.#failures === 2) this.#report({ since: this.#began.now, reason: error.message });
    return true;
  }

  /** Errors that are not going to pass, such as an untrusted certificate of a service that has never answered. */
  #isLasting(error: AopsError): boolean {
    if (error instanceof ServiceAnswerError) return error.status === 501;
    return !this.#answered && error instanceof UnavailableError && error.final;
  }
}
