import { expect, it } from 'vitest';
import { engineJobs } from '../../../../src/service/engine/engine-jobs.ts';
import { forgetKeysJob } from '../../../../src/service/http/idempotency/forget-keys.ts';
import { jobKinds } from '../../../../src/service/store/jobs/kinds.ts';

it('has exactly one job for each kind in the jobs table', () => {
  const jobs = [...engineJobs, forgetKeysJob({ removeExpired: async () => undefined })];
  expect(jobs.map(({ kind }) => kind).sort()).toEqual(Object.values(jobKinds).sort());
});
