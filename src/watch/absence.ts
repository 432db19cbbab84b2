/** The time during which a service that is followed does not answer: a restart, a network that is gone for a moment. */
import { type Clock, steadyTime } from '../base/clock.ts';
import { AopsError, exitCodes } from '../base/errors.ts';
import { ServiceAnswerError, UnavailableError } from '../client/errors.ts';

/** A service that cannot be reached. */
export interface Outage {
  /** When the first request failed, in milliseconds since the epoch. */
  since: number;
  /** What was wrong with it, as a sentence. */
  reason: string;
}

/** How long a service may be away before following ends, in milliseconds. */
export const longestAbsence = 60_000;

export class Absence {
  readonly #clock: Clock;
  readonly #tell: (outage: Outage | undefined) => void;
  readonly #endures: () => boolean;
  #answered = false;
  #began: { steady: number; now: number } | undefined;
  #failures = 0;

  /**
   * @param tell is called once when the service has failed to answer twice in a row, and once with undefined when it is back
   * @param endures whether an absence of any length is accepted just now
   */
  constructor(clock: Clock, tell: (outage: Outage | undefined) => void = () => undefined, endures: () => boolean = () => false) {
    this.#clock = clock;
    this.#tell = tell;
    this.#endures = endures;
  }

  /** The service has answered. Returns whether it had failed to before. */
  over(): boolean {
    const wasAway = this.#began !== undefined;
    if (this.#failures > 1) this.#tell(undefined);
    this.#answered = true;
    this.#began = undefined;
    this.#failures = 0;
    return wasAway;
  }

  /** Whether the service may be back in a moment: what was read so far stays read. */
  passes(error: unknown): boolean {
    if (!(error instanceof AopsError) || error.exit !== exitCodes.unavailable || this.#isLasting(error)) return false;
    const steady = steadyTime(this.#clock);
    this.#began ??= { steady, now: this.#clock.now() };
    if (steady - this.#began.steady > longestAbsence && !this.#endures()) return false;
    this.#failures += 1;
    if (this.#failures === 2) this.#tell({ since: this.#began.now, reason: error.message });
    return true;
  }

  /** What a service never answered differently is not going to pass, such as a certificate that is not trusted. */
  #isLasting(error: AopsError): boolean {
    if (error instanceof ServiceAnswerError) return error.status === 501;
    return !this.#answered && error instanceof UnavailableError && error.final;
  }
}
