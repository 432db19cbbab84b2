/** Makes the dispatch of a queue due. */
import type { Queries } from '../../store/database/database.ts';
import { nudgeJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';

/** Dispatches the cases of a queue at that time (milliseconds) at the latest. Call it in a transaction, and wake the worker after the commit. */
export const nudgeDispatch = (trx: Queries, queueId: string, dueAt: number): Promise<void> =>
  nudgeJob(trx, { kind: jobKinds.dispatchCases, subjectId: queueId, dueAt });
