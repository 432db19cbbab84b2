import { expect, it } from 'vitest';
import { engineJobs } from '../../../../src/service/engine/engine-jobs.ts';
import { forgetKeysJob } from '../../../../src/service/http/idempotency/forget-keys.ts';
import { type ClaimedJob, claimJob } from '../../../../src/service/store/jobs/jobs.ts';
import { jobKinds } from '../../../../src/service/store/jobs/kinds.ts';
import { workshop } from '../../helpers/worker.ts';

it('has exactly one job for each kind in the jobs table', () => {
  const jobs = [...engineJobs, forgetKeysJob({ removeExpired: async () => undefined })];
  expect(jobs.map(({ kind }) => kind).sort()).toEqual(Object.values(jobKinds).sort());
});

it('removes expired keys and counts of ended windows at every start, and every ten minutes', async () => {
  const { store, clock } = await workshop();
  const calls: string[] = [];
  const windows = { removeEnded: async (now: number) => void calls.push(`windows ${now - clock.now()}`) };
  const job = forgetKeysJob({ removeExpired: async () => void calls.push('keys') }, windows);
  const parts = { store, clock };
  const row = () => store.selectFrom('jobs').select(['status', 'due_at']).executeTakeFirstOrThrow();
  for (let start = 1; start <= 2; start++) {
    await job.atStart?.(parts);
    expect(await row()).toEqual({ status: 'queued', due_at: clock.now() });
    await job.run(
      parts,
      (await claimJob(store, job.kind, { owner: 'me', now: clock.now(), lease: 1_000 })) as ClaimedJob,
      new AbortController().signal,
    );
    expect(await row()).toEqual({ status: 'queued', due_at: clock.now() + 600_000 });
    clock.advance(1_000);
  }
  expect(calls).toEqual(['keys', 'windows 0', 'keys', 'windows 0']);
});
