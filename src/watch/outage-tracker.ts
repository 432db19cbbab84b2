/** Tracks outages of a service that is being watched, such as a restart or a short network failure. */
import { type Clock, steadyTime } from '../base/clock.ts';
import { formatDuration } from '../base/duration.ts';
import { AopsError, exitCodes } from '../base/errors.ts';
import { ServiceAnswerError, UnavailableError } from '../client/errors.ts';

/** A period in which the service cannot be reached. */
export interface Outage {
  /** When the first request failed, in milliseconds since the epoch. */
  since: number;
  /** Why it failed, as a sentence. */
  reason: string;
}

/**
 * Receives an outage when it starts, and undefined when it is over. Returns true if the reason is now on the screen, so that it is not
 * printed again when watching ends; other results do not matter.
 */
export type OutageReport = (outage: Outage | undefined) => unknown;

/** How long an outage may last before watching ends, in milliseconds. */
export const maxOutageMilliseconds = 60_000;

interface CurrentOutage {
  /** When the first request failed, in steady time. */
  startTime: number;
  /** The same as a time of day, in milliseconds since the epoch. */
  since: number;
  failures: number;
  /** The reason that is on the screen. */
  reportedReason?: string;
}

export class OutageTracker {
  readonly #clock: Clock;
  readonly #report: OutageReport;
  readonly #waitsIndefinitely: () => boolean;
  #hasAnswered = false;
  #current: CurrentOutage | undefined;

  /**
   * @param report called once when the service has failed to answer twice in a row, and once with undefined when it answers again
   * @param waitsIndefinitely whether an outage of any length is tolerated at the moment
   */
  constructor(clock: Clock, report: OutageReport = () => undefined, waitsIndefinitely: () => boolean = () => false) {
    this.#clock = clock;
    this.#report = report;
    this.#waitsIndefinitely = waitsIndefinitely;
  }

  /** Call this when the service has answered. Returns whether it had failed to before. */
  recordAnswer(): boolean {
    const outage = this.#current;
    this.#current = undefined;
    this.#hasAnswered = true;
    if (outage !== undefined && outage.failures > 1) this.#report(undefined);
    return outage !== undefined;
  }

  /** Whether the error may be part of a short outage, so that watching can continue. */
  tolerates(error: unknown): boolean {
    if (!(error instanceof AopsError) || error.exit !== exitCodes.unavailable || this.#isPermanent(error)) return false;
    const steady = steadyTime(this.#clock);
    this.#current ??= { startTime: steady, since: this.#clock.now(), failures: 0 };
    const outage = this.#current;
    if (steady - outage.startTime > maxOutageMilliseconds && !this.#waitsIndefinitely()) return false;
    outage.failures += 1;
    if (outage.failures === 2 && this.#report({ since: outage.since, reason: error.message }) === true)
      outage.reportedReason = error.message;
    return true;
  }

  /** The error that ends watching because of a failure that is not tolerated. */
  describeEnd(error: unknown): unknown {
    const outage = this.#current;
    if (!(error instanceof AopsError) || error.message !== outage?.reportedReason) return error;
    const { code, exit, hint, details } = error;
    const duration = formatDuration(steadyTime(this.#clock) - outage.startTime);
    return new AopsError(`The service has not answered for ${duration}.`, { code, exit, hint, details, cause: error });
  }

  /** Errors that are not going to pass, such as an untrusted certificate of a service that has never answered. */
  #isPermanent(error: AopsError): boolean {
    if (error instanceof ServiceAnswerError) return error.status === 501;
    return !this.#hasAnswered && error instanceof UnavailableError && error.final;
  }
}
