/**
 * How many retries one process may make, as a token bucket: a retry takes from it, a success gives back. Each request
 * has a small number of retries of its own; this keeps a command of many requests, such as paging or polling, from
 * sending a struggling service several times its usual load. The numbers are those of the AWS SDKs' "standard" mode.
 */

const capacity = 500;
const retryCost = 5;
/** What a success without a retry gives back. */
const successRefill = 1;

export class RetryBudget {
  /** Nothing is tried again: the first failure is what the caller wants to know. */
  readonly never: boolean;
  #tokens = capacity;

  constructor({ never = false }: { never?: boolean } = {}) {
    this.never = never;
  }

  /** Whether another retry may be made. */
  get affordable(): boolean {
    return !this.never && this.#tokens >= retryCost;
  }

  /** Pays for a retry. */
  take(): void {
    this.#tokens = Math.max(0, this.#tokens - retryCost);
  }

  /** A request succeeded. A retry that led there gets its price back. */
  succeeded(retried: boolean): void {
    this.#tokens = Math.min(capacity, this.#tokens + (retried ? retryCost : successRefill));
  }
}
