/** What happens to a claimed job whose handler was interrupted. */
import type { Store } from '../../store/database/database.ts';
import { type Claim, releaseJob, yieldJob } from '../../store/jobs/jobs.ts';
import { JobAborted } from './worker.ts';

/** Whether a signal was aborted because the service is shutting down. */
export const isShutdown = ({ reason }: AbortSignal): boolean => reason instanceof JobAborted && reason.reason === 'shutdown';

/** Leaves a job at shutdown to the next start of the service. Otherwise ends it; if another worker has taken it, nothing happens. */
export async function leaveJob(store: Store, claim: Claim, signal: AbortSignal, now: number): Promise<void> {
  if (isShutdown(signal)) await yieldJob(store, claim, now);
  else await releaseJob(store, claim, { status: 'done' });
}
