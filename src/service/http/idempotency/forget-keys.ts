/** The job that forgets stored answers 24 hours after their first request, even on a service that nobody writes to: some contain a secret. */
import type { Engine } from '../../engine/engine.ts';
import { defineJob, type Job } from '../../engine/jobs/job.ts';
import { nudgeJob, releaseJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import type { IdempotencyLayer } from './idempotency.ts';

type Parts = Pick<Engine, 'store' | 'clock'>;

/** Milliseconds between two runs. */
const interval = 600_000;

export const forgetKeysJob = (idempotency: Pick<IdempotencyLayer, 'forgetExpired'>): Job<Parts> =>
  defineJob({
    kind: jobKinds.forgetKeys,
    concurrency: 1,
    async atStart({ store, clock }: Parts) {
      await nudgeJob(store, { kind: jobKinds.forgetKeys, subjectId: 'all', dueAt: clock.now() });
    },
    async run({ store, clock }: Parts, job) {
      await idempotency.forgetExpired();
      await releaseJob(store, job, { status: 'queued', dueAt: clock.now() + interval });
    },
  });
