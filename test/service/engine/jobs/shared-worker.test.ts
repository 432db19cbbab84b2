/** A worker on a database of several nodes, where each kind of jobs is claimed in a transaction of its own. */
import { expect, it } from 'vitest';
import { defineJob, type Job } from '../../../../src/service/engine/jobs/job.ts';
import { Worker } from '../../../../src/service/engine/jobs/worker.ts';
import type { Store } from '../../../../src/service/store/database/database.ts';
import { claimJob, enqueueJob, releaseJob } from '../../../../src/service/store/jobs/jobs.ts';
import { needsPostgres } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { afterTest } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { openNodes } from '../../helpers/postgres.ts';
import { Gate } from '../../helpers/runtime.ts';

async function startWorker(jobsOf: (store: Store) => Job<undefined>[], dueKinds: readonly (readonly [string, string])[]) {
  const [store] = (await openNodes('me')) as [Store];
  const clock = new ManualClock();
  const logEntries: string[] = [];
  const worker = new Worker({ store, clock, owner: 'me', log: (_, message) => logEntries.push(message) });
  afterTest(() => worker.close(1_000));
  for (const [kind, subjectId] of dueKinds) await enqueueJob(store, { kind, subjectId, dueAt: clock.now() });
  worker.start(jobsOf(store), undefined);
  return { store, clock, worker, logEntries };
}

describeNeeding(needsPostgres, 'a worker', () => {
  it('runs the jobs of a kind although those of the next one cannot be claimed', async () => {
    const hasRun = new Gate();
    const { logEntries } = await startWorker(
      (store) => [
        defineJob({
          kind: 'good',
          concurrency: 1,
          async run(_: undefined, job) {
            await releaseJob(store, job, { status: 'done' });
            hasRun.open();
          },
        }),
        defineJob({ kind: 'bad', concurrency: 1, run: async () => undefined, claim: () => Promise.reject(new Error('not now')) }),
      ],
      [
        ['good', 's'],
        ['bad', 's'],
      ],
    );
    await hasRun.opened;
    expect(logEntries.filter((message) => message !== 'polling for jobs failed')).toEqual([]);
  });

  it('claims each job of a kind that locks more than its job in a transaction of its own', async () => {
    const transactions = new Set<unknown>();
    let executed = 0;
    const allHaveRun = new Gate();
    await startWorker(
      (store) => [
        defineJob({
          kind: 'k',
          concurrency: 3,
          async run(_: undefined, job) {
            await releaseJob(store, job, { status: 'done' });
            executed += 1;
            if (executed === 4) allHaveRun.open();
          },
          async claim(_, trx, kind, claimant) {
            const job = await claimJob(trx, kind, claimant);
            if (job !== undefined) {
              expect(transactions.has(trx)).toBe(false);
              transactions.add(trx);
            }
            return job;
          },
        }),
      ],
      ['a', 'b', 'c', 'd'].map((subjectId) => ['k', subjectId] as const),
    );
    await allHaveRun.opened;
    expect(transactions.size).toBe(4);
  });
});
