/** What becomes of a job whose handler was interrupted, by the reason of the interruption. */
import { expect, it } from 'vitest';
import { leaveJob } from '../../../../src/service/engine/jobs/leave.ts';
import { JobAborted } from '../../../../src/service/engine/jobs/worker.ts';
import { type Claim, claimJob } from '../../../../src/service/store/jobs/jobs.ts';
import { workshop } from '../../helpers/worker.ts';

async function claimedJob() {
  const { store, clock, job } = await workshop();
  await job('s');
  const claimant = { owner: 'me', now: clock.now(), lease: 15_000 };
  const claim = (await claimJob(store, 'k', claimant)) as Claim;
  const row = () => store.selectFrom('jobs').selectAll().executeTakeFirstOrThrow();
  return { store, claim, clock, claimant, row };
}

it('at a shutdown it is left to the next worker, which need not wait for the end of the lease', async () => {
  const { store, claim, clock, claimant } = await claimedJob();
  await leaveJob(store, claim, AbortSignal.abort(new JobAborted('shutdown')), clock.now());
  expect(await claimJob(store, 'k', { ...claimant, owner: 'next' })).toMatchObject({ id: claim.id });
});

it.each([new JobAborted('stopped'), new Error('shutdown')])('after another abort it has ended (%s)', async (reason) => {
  const { store, claim, clock, row } = await claimedJob();
  await leaveJob(store, claim, AbortSignal.abort(reason), clock.now());
  expect((await row()).status).toBe('done');
});

it.each(['shutdown', 'lost'] as const)('nothing changes when the job is held by somebody else (%s)', async (reason) => {
  const { store, claim, clock, claimant, row } = await claimedJob();
  clock.advance(claimant.lease);
  await claimJob(store, 'k', { ...claimant, owner: 'other', now: clock.now() });
  const before = await row();
  await leaveJob(store, claim, AbortSignal.abort(new JobAborted(reason)), clock.now());
  expect(await row()).toEqual(before);
});
