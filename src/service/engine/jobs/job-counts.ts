/** Counts what the worker of this process did, by the kind of job, for the metrics. */
export class JobCounts {
  /** Jobs that it began to work on. */
  readonly claimed = new Map<string, number>();
  /** Those of them whose lease had ended without a release: their process was gone, or late. */
  readonly takenOver = new Map<string, number>();
  /** Jobs that another process took, or that were stopped, while it worked on them. */
  readonly lost = new Map<string, number>();

  add(what: 'claimed' | 'takenOver' | 'lost', kind: string): void {
    this[what].set(kind, (this[what].get(kind) ?? 0) + 1);
  }
}
