/** What becomes of a run when its job is claimed, before anything is executed. */
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startRun } from '../../../../src/service/engine/runs/lifecycle.ts';
import { runJob } from '../../../../src/service/engine/runs/run-driver.ts';
import type { RunRow } from '../../../../src/service/store/database/schema.ts';
import { type ClaimedJob, enqueueJob, reclaimJobs } from '../../../../src/service/store/jobs/jobs.ts';
import { runById } from '../../../../src/service/store/runs/runs.ts';
import { afterTest } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { closeEngine, idleEngine } from '../../helpers/engine.ts';
import { testRuntime } from '../../helpers/runtime.ts';
import { startApi } from '../../helpers/service.ts';

/** A run that was started, in an engine without a worker; its events are wanted. */
async function startedRun() {
  const clock = new ManualClock();
  const runtimes = [testRuntime({ work: async () => ({ status: 'completed' }) })];
  const api = await startApi({ clock, runtimes });
  const agentId = await api.agent('work');
  await api.ok('createTeamWebhook', { body: { url: 'http://127.0.0.1:9/', events: ['run.started'] } });
  await api.service.close();
  const engine = await idleEngine(clock, { dataDirectory: api.dataDirectory, runtimes });
  afterTest(() => closeEngine(engine));
  const { store, worker } = engine;
  const { id, sandbox_id } = await startRun(engine, { teamId: api.service.teamId, agentId, source: 'api' });
  let wakes = 0;
  const countWakes = (): void => {
    wakes += 1;
    void worker.nextWake().then(countWakes);
  };
  void worker.nextWake().then(countWakes);
  return {
    ...{ store, clock, id, sandboxes: join(api.dataDirectory, 'sandboxes'), folder: join(api.dataDirectory, 'sandboxes', sandbox_id) },
    run: async () => (await runById(store, id)) as RunRow,
    claim: async (owner = 'this') => {
      const claimant = { owner, now: clock.now(), lease: 1_000 };
      return store.transaction().execute(async (trx) => runJob.claim?.(engine, trx, runJob.kind, claimant));
    },
    drive: (job: ClaimedJob) => runJob.run(engine, job, new AbortController().signal),
    makeDue: () => enqueueJob(store, { kind: runJob.kind, subjectId: id, dueAt: clock.now(), lane: api.service.teamId }),
    events: async () => (await store.selectFrom('events').select('kind').execute()).map(({ kind }) => kind),
    wakes: () => wakes,
  };
}

it('a new run is running before it needs a folder, and its start is reported once', async () => {
  const { claim, run, folder, events, wakes, makeDue, clock, store, id } = await startedRun();
  const started_at = new Date(clock.now()).toISOString();
  expect(await claim()).toMatchObject({ subject_id: id, wasInterrupted: false, begun: expect.anything() });
  expect([await run(), existsSync(folder), await events(), wakes()]).toMatchObject([
    { status: 'running', started_at },
    false,
    ['run.started'],
    0,
  ]);
  // A later turn keeps the time of the first one.
  clock.advance(1_000);
  await store.updateTable('runs').set({ status: 'pending' }).execute();
  await makeDue();
  await claim();
  expect([await run(), await events(), wakes()]).toMatchObject([{ status: 'running', started_at }, ['run.started'], 0]);
});

it('the worker is woken for the events of a beginning after the claim', async () => {
  const { claim, drive, wakes } = await startedRun();
  const job = (await claim()) as ClaimedJob;
  const before = wakes();
  const end = drive(job);
  await Promise.resolve();
  expect([before, wakes()]).toEqual([0, 1]);
  await end;
});

it('a run whose folder cannot be created is starting', async () => {
  const { claim, run, sandboxes, events, wakes } = await startedRun();
  await rm(sandboxes, { recursive: true, force: true });
  await writeFile(sandboxes, 'in the way');
  const job = await claim();
  expect(job).not.toHaveProperty('begun');
  expect([await run(), await events(), wakes()]).toMatchObject([{ status: 'starting', started_at: null }, [], 0]);
});

it('a run that was being claimed when its process ended is starting, too', async () => {
  const { claim, run, store, clock } = await startedRun();
  await claim('ended');
  await store.updateTable('runs').set({ status: 'pending' }).execute();
  await reclaimJobs(store, clock.now());
  const job = (await claim()) as ClaimedJob;
  expect([job.wasInterrupted, (await run()).status]).toEqual([true, 'starting']);
});

it.each(['running', 'waiting', 'completed', 'interrupted'] as const)('a run that is %s stays so', async (status) => {
  const { claim, run, store, events, folder } = await startedRun();
  await store.updateTable('runs').set({ status }).execute();
  const before = await run();
  expect(await claim()).toBeDefined();
  expect([await run(), await events(), existsSync(folder)]).toEqual([before, [], false]);
});

it('a run that continues gets its removed sandbox back', async () => {
  const { claim, store, makeDue } = await startedRun();
  const removedAt = async () => (await store.selectFrom('sandboxes').select('removed_at').executeTakeFirstOrThrow()).removed_at;
  await claim();
  await store.updateTable('sandboxes').set({ removed_at: '2026-07-18' }).execute();
  await store.updateTable('runs').set({ status: 'pending' }).execute();
  await makeDue();
  await claim();
  expect(await removedAt()).toBeNull();
});

it('nothing is claimed if nothing is due', async () => {
  const { claim } = await startedRun();
  await claim();
  expect(await claim()).toBeUndefined();
});
