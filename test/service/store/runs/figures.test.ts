import { expect, it } from 'vitest';
import { claimJob, enqueueJob } from '../../../../src/service/store/jobs/jobs.ts';
import { jobBacklog } from '../../../../src/service/store/runs/figures.ts';
import { workshop } from '../../helpers/worker.ts';

it('the backlog of a kind of job contains what is due, how long the oldest is overdue, and what is running', async () => {
  const { store } = await workshop();
  const now = 100_000;
  for (const [subjectId, dueAt] of [
    ['running', 1_000],
    ['oldest', 40_000],
    ['newest', 90_000],
    ['later', 200_000],
  ] as const)
    await enqueueJob(store, { kind: 'run', subjectId, dueAt });
  await claimJob(store, 'run', { owner: 'me', now, lease: 1_000 });
  expect(Object.fromEntries(await jobBacklog(store, ['run', 'deliver'], now))).toEqual({
    run: { runningCount: 1, dueCount: 2, overdueSeconds: 60 },
    deliver: { runningCount: 0, dueCount: 0, overdueSeconds: 0 },
  });
});
