/** A kind of job, as the worker sees it. Each folder of the engine defines its own jobs next to the functions that run them. */
import type { Queries } from '../../store/database/database.ts';
import type { Claimant, ClaimedJob } from '../../store/jobs/jobs.ts';

/**
 * Takes the next job of a kind as part of a transaction. Returns undefined if none can be claimed, and `locked` if that could only be found
 * out by waiting for other transactions, but this one must not wait (`hasClaimed`). `run` gets the job that it returns.
 */
export type JobClaim<in Parts = unknown> = (
  parts: Parts,
  trx: Queries,
  kind: string,
  claimant: Claimant,
) => Promise<ClaimedJob | 'locked' | undefined>;

/** A kind of job and how to run it, given the parts of the engine that it uses. */
export interface Job<in Parts> {
  readonly kind: string;
  /** How many jobs of this kind run at the same time. */
  readonly concurrency: number | ((parts: Parts) => number);
  /** Works on one claimed job and releases it. If it throws instead, the job is retried later. */
  readonly run: (parts: Parts, job: ClaimedJob, signal: AbortSignal) => Promise<void>;
  /** How the next job is taken. By default, it is the one that has been due for longest. */
  readonly claim?: JobClaim<Parts>;
  /** Called when the subject of a job is stopped, also while no job is working on it. */
  readonly onStop?: (parts: Parts, subjectId: string) => void;
  /** Called at every start of the service, before any job is claimed. A recurring job makes itself due here. */
  readonly atStart?: (parts: Parts) => Promise<void>;
}

/** Defines a kind of job. The parts that it needs are inferred from the parameters of its functions. */
export const defineJob = <Parts>(job: Job<Parts>): Job<Parts> => job;
