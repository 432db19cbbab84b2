/**
 * Limits the retries of one process with a token bucket: a retry takes tokens, a success returns some. Each request has a
 * small number of retries of its own; the budget keeps a command with many requests, such as paging or polling, from sending
 * a struggling service a multiple of its usual load. The numbers are those of the "standard" mode of the AWS SDKs.
 */

const capacity = 500;
const retryCost = 5;
/** Tokens returned by a success without a retry. */
const successRefill = 1;

export class RetryBudget {
  /** Whether nothing is retried, because the caller wants to know the first failure. */
  readonly neverRetries: boolean;
  #tokens = capacity;

  constructor({ neverRetries = false }: { neverRetries?: boolean } = {}) {
    this.neverRetries = neverRetries;
  }

  /** Whether another retry may be made. */
  get canAfford(): boolean {
    return !this.neverRetries && this.#tokens >= retryCost;
  }

  /** Pays for a retry. */
  spend(): void {
    this.#tokens = Math.max(0, this.#tokens - retryCost);
  }

  /** Call this when a request succeeded. If it took a retry, the cost of one retry is returned. */
  recordSuccess(wasRetried: boolean): void {
    this.#tokens = Math.min(capacity, this.#tokens + (wasRetried ? retryCost : successRefill));
  }
}
