/** A worker on a database of several nodes, where each kind of jobs is claimed in a transaction of its own. */
import { expect, it } from 'vitest';
import { defineJob, type Job, type JobClaim } from '../../../../src/service/engine/jobs/job.ts';
import { Worker } from '../../../../src/service/engine/jobs/worker.ts';
import type { Queries, Store } from '../../../../src/service/store/database/database.ts';
import { type Claimant, claimJob, enqueueJob, releaseJob } from '../../../../src/service/store/jobs/jobs.ts';
import { needsPostgres } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { afterTest } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { openNodes } from '../../helpers/postgres.ts';
import { Gate } from '../../helpers/runtime.ts';

async function startWorker(
  jobsOf: (store: Store) => Job<undefined>[],
  dueKinds: readonly (readonly [string, string])[],
  prepare?: (store: Store) => Promise<unknown>,
) {
  const [store] = (await openNodes('me')) as [Store];
  const clock = new ManualClock();
  const logEntries: string[] = [];
  const worker = new Worker({ store, clock, owner: 'me', log: (_, message) => logEntries.push(message) });
  afterTest(() => worker.close(1_000));
  for (const [kind, subjectId] of dueKinds) await enqueueJob(store, { kind, subjectId, dueAt: clock.now() });
  await prepare?.(store);
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

  /** Resolves with the subjects that each transaction has claimed, when all of them have been executed. */
  async function claimedTogether(
    subjectIds: readonly string[],
    claim: (trx: Queries, kind: string, claimant: Claimant) => ReturnType<JobClaim>,
    prepare?: (store: Store) => Promise<unknown>,
  ): Promise<string[][]> {
    const transactions = new Map<unknown, string[]>();
    let executed = 0;
    const allHaveRun = new Gate();
    await startWorker(
      (store) => [
        defineJob({
          kind: 'k',
          concurrency: 20,
          async run(_: undefined, job) {
            await releaseJob(store, job, { status: 'done' });
            executed += 1;
            if (executed === subjectIds.length) allHaveRun.open();
          },
          async claim(_, trx, kind, claimant) {
            const job = await claim(trx, kind, claimant);
            if (job !== undefined && job !== 'locked') transactions.set(trx, [...(transactions.get(trx) ?? []), job.subject_id]);
            return job;
          },
        }),
      ],
      subjectIds.map((subjectId) => ['k', subjectId] as const),
      prepare,
    );
    await allHaveRun.opened;
    return [...transactions.values()];
  }

  it('claims a few jobs that lock more than themselves in one transaction', async () => {
    const claims = await claimedTogether([...'abcdefghij'], claimJob);
    expect(claims.map((subjects) => subjects.length)).toEqual([8, 2]);
  });

  it('claims all that are due although none of them ends', async () => {
    const subjectIds = [...'abcdefghij'];
    const [allHaveBegun, end] = [new Gate(), new Gate()];
    let begun = 0;
    afterTest(async () => end.open());
    await startWorker(
      () => [
        defineJob({
          kind: 'k',
          concurrency: 20,
          async run() {
            begun += 1;
            if (begun === subjectIds.length) allHaveBegun.open();
            await end.opened;
          },
          claim: (_, trx, kind, claimant) => claimJob(trx, kind, claimant),
        }),
      ],
      subjectIds.map((subjectId) => ['k', subjectId] as const),
    );
    await allHaveBegun.opened;
  });

  it('claims jobs whose leases have ended in transactions of their own', async () => {
    const claims = await claimedTogether([...'abc'], claimJob, (store) => store.updateTable('jobs').set({ status: 'running' }).execute());
    expect(claims.map((subjects) => subjects.length)).toEqual([1, 1, 1]);
  });

  it('claims what others have locked in another transaction, which may wait for them', async () => {
    const claims = await claimedTogether([...'abc'], async (trx, kind, claimant) =>
      claimant.hasClaimed === true ? 'locked' : claimJob(trx, kind, claimant),
    );
    expect(claims.map((subjects) => subjects.length)).toEqual([1, 1, 1]);
  });
});
