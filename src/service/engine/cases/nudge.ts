/** Has the line of a queue looked at. */
import type { Queries } from '../../store/database/database.ts';
import { nudgeJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';

/** At that time (milliseconds) at the latest. Within a transaction; wake the worker when it has committed. */
export const nudgeDispatch = (trx: Queries, queueId: string, dueAt: number): Promise<void> =>
  nudgeJob(trx, { kind: jobKinds.dispatchCases, subjectId: queueId, dueAt });
