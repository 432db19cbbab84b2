/** The constants of the retry policy. */

export const retryPolicy = {
  /** Retries after the first attempt. */
  retries: 3,
  /** Longest pause that a rate limit may request, unless `--max-wait` is set. */
  maxWaitMilliseconds: 60_000,
  /** Longest time one attempt may take, body included. */
  attemptMilliseconds: 30_000,
} as const;
