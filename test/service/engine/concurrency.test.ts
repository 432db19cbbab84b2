/** How many runs of a team a plan allows at the same time, and in which order they are executed. */
import { expect, it } from 'vitest';
import type { RunHost } from '../../../src/service/runtimes/run-host.ts';
import { defaultPlan } from '../../../src/service/store/access/plan.ts';
import { savePlan } from '../../../src/service/store/access/plans.ts';
import { insertTeam } from '../../../src/service/store/access/teams.ts';
import { openDatabase } from '../../../src/service/store/database/sqlite/open.ts';
import { enqueueJob, releaseJob } from '../../../src/service/store/jobs/jobs.ts';
import { claimRunJob } from '../../../src/service/store/runs/run-queue.ts';
import { afterTest, temporaryDirectory } from '../../support/temporary.ts';
import { ManualClock } from '../helpers/clock.ts';
import { insertRuns } from '../helpers/rows.ts';
import { Gate } from '../helpers/runtime.ts';
import { startApi } from '../helpers/service.ts';

const plan = (maxConcurrentRuns: number) => ({ ...defaultPlan, maxConcurrentRuns });

/** A runtime that records which runs are executed, and lets the test end each of them. */
function workshop() {
  const gates = new Map<string, Gate>();
  const starts: number[] = [];
  const waiters: (() => void)[] = [];
  let [busyCount, maxBusy] = [0, 0];
  const gate = (id: string): Gate => {
    const gate = gates.get(id) ?? new Gate();
    gates.set(id, gate);
    return gate;
  };
  return {
    begun: starts,
    maxBusy: () => maxBusy,
    finish: (id: string) => gate(id).open(),
    /** Resolves when this many have started. */
    async until(count: number): Promise<void> {
      while (starts.length < count) await new Promise<void>((resolve) => waiters.push(resolve));
    },
    work: async (host: RunHost) => {
      starts.push(host.run.number);
      maxBusy = Math.max(maxBusy, ++busyCount);
      for (const wake of waiters.splice(0)) wake();
      const stop = new Promise<void>((resolve) => host.signal.addEventListener('abort', () => resolve()));
      await Promise.race([gate(host.run.id).opened, stop]);
      busyCount -= 1;
      return { status: 'completed' as const };
    },
  };
}

it('executes no more runs than the plan allows, first come, first served', async () => {
  const shop = workshop();
  // The clock stands still, so all of them become due at the same moment.
  const api = await startApi({ clock: new ManualClock(), plan: plan(2), behaviours: { work: shop.work } });
  const agent = await api.agent('work');
  const runs = [];
  for (let index = 0; index < 6; index++) runs.push((await api.ok('startRun', { body: { agent_id: agent } })).run);
  const ids = runs.map(({ id }) => id);
  const statuses = async () => (await api.ok('listRuns', { query: { sort_order: 'asc' } })).data.map(({ status }) => status);

  await shop.until(2);
  for (const id of ids.slice(0, 2)) await api.until(id, 'running');
  expect(await statuses()).toEqual(['running', 'running', 'pending', 'pending', 'pending', 'pending']);
  expect((await api.ok('getTeamUsage', { params: { teamId: api.service.teamId } })).concurrency).toEqual({ used: 2, limit: 2 });

  // A slot becomes free when a run ends, and when one is stopped.
  shop.finish(ids[1] as string);
  await shop.until(3);
  await api.ok('stopRun', { params: { run_id: ids[0] as string } });
  await shop.until(4);
  // A run that is stopped while it is queued is not executed.
  await api.ok('stopRun', { params: { run_id: ids[4] as string } });
  for (const id of ids) shop.finish(id);
  await api.until(ids[5] as string, 'completed');
  // The first two are claimed at the same time, and either of them might start first.
  expect([...shop.begun.slice(0, 2).sort(), ...shop.begun.slice(2)]).toEqual([1, 2, 3, 4, 6]);
  expect(shop.maxBusy()).toBe(2);
});

it('gives the slot of a run that waits for a person to the next run; after the answer, the run queues again', async () => {
  const shop = workshop();
  const api = await startApi({
    plan: plan(1),
    behaviours: {
      work: shop.work,
      ask: async (host) =>
        host.answer('q') === undefined
          ? { status: 'waiting', step: 'q', request: { type: 'approval', title: 'Go?' } }
          : { status: 'completed' },
    },
  });
  const askingRun = await api.run('ask');
  const working = await api.run('work');
  await shop.until(1);
  const { pending_human_request: request } = await api.until(askingRun.id, 'waiting');
  await api.ok('respondToHumanRequest', { params: { run_id: askingRun.id, request_id: request?.id as string }, body: { approved: true } });
  expect((await api.ok('getRun', { params: { run_id: askingRun.id } })).run.status).toBe('pending');
  shop.finish(working.id);
  await api.until(askingRun.id, 'completed');
});

it('gives the slots to the runs that had them when the service starts again', async () => {
  const first = workshop();
  const api = await startApi({ clock: new ManualClock(), plan: plan(2), behaviours: { work: first.work } });
  const agent = await api.agent('work');
  for (let index = 0; index < 4; index++) await api.ok('startRun', { body: { agent_id: agent } });
  await first.until(2);
  await api.service.close();

  const second = workshop();
  const clock = new ManualClock(Date.parse('2026-07-18T10:00:00.000Z'));
  const restartedApi = await startApi({ clock, dataDirectory: api.dataDirectory, behaviours: { work: second.work } });
  await second.until(2);
  expect(second.begun.sort()).toEqual([1, 2]);
  const { data } = await restartedApi.ok('listRuns', { query: { sort_order: 'asc' } });
  expect(data.map(({ status }) => status)).toEqual(['running', 'running', 'pending', 'pending']);
});

it('does not let a team at its limit block other teams', async () => {
  const db = await openDatabase(await temporaryDirectory());
  afterTest(() => db.destroy());
  const [busyLane, otherLane] = ['busy', 'other'];
  for (const id of [busyLane, otherLane]) {
    await insertTeam(db, { id, name: id, created_at: '2026-07-18T09:00:00.000Z' });
    await savePlan(db, id, plan(id === busyLane ? 1 : 2), '2026-07-18T09:00:00.000Z');
    await insertRuns(db, id);
  }
  for (const [index, id] of [busyLane, busyLane, busyLane, otherLane, otherLane, otherLane].entries())
    await enqueueJob(db, { kind: 'run', subjectId: `${id} ${index % 3}`, dueAt: index, lane: id });
  const claimant = { owner: 'me', now: 10, lease: 100 };
  const claim = (by: typeof claimant) => db.transaction().execute((trx) => claimRunJob(trx, 'run', by));
  // All claim at the same time, as two nodes would.
  const claims = await Promise.all(Array.from({ length: 6 }, () => claim(claimant)));
  expect(
    claims
      .map((job) => job?.subject_id)
      .filter(Boolean)
      .sort(),
  ).toEqual(['busy 0', 'other 0', 'other 1']);
  const busyJob = claims.find((job) => job?.lane === busyLane);
  await releaseJob(db, busyJob as { id: string; epoch: number }, { status: 'done' });
  expect((await claim(claimant))?.subject_id).toBe('busy 1');
  expect(await claim(claimant)).toBeUndefined();
  // A run that its worker dropped is taken over even at the limit, because it still has its slot.
  expect((await claim({ ...claimant, now: 200 }))?.lane).toBeDefined();
});
