/**
 * The job that removes stored answers 24 hours after their first request, even on an idle service, because some contain secrets, and
 * counts of requests that are no longer needed.
 */
import type { HasClock, HasStore } from '../../engine/engine.ts';
import { defineJob, type Job } from '../../engine/jobs/job.ts';
import type { RateWindows } from '../../store/access/rate-windows.ts';
import type { IdempotencyKeys } from '../../store/idempotency/idempotency-keys.ts';
import { nudgeJob, releaseJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';

/** Milliseconds between two runs. */
const interval = 600_000;

export const forgetKeysJob = (
  keys: Pick<IdempotencyKeys, 'removeExpired'>,
  windows?: Pick<RateWindows, 'removeEnded'>,
): Job<HasStore & HasClock> =>
  defineJob<HasStore & HasClock>({
    kind: jobKinds.forgetKeys,
    concurrency: 1,
    async atStart({ store, clock }) {
      await nudgeJob(store, { kind: jobKinds.forgetKeys, subjectId: 'all', dueAt: clock.now() });
    },
    async run({ store, clock }, job) {
      await keys.removeExpired();
      await windows?.removeEnded(clock.now());
      await releaseJob(store, job, { status: 'queued', dueAt: clock.now() + interval });
    },
  });
