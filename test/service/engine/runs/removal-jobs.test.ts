/** The jobs that remove runs and sandboxes, executed by the test: what they leave alone, and when they are due again. */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { EngineOptions } from '../../../../src/service/engine/create-engine.ts';
import { evaluateJob } from '../../../../src/service/engine/runs/evaluations.ts';
import { forgetRunsJob } from '../../../../src/service/engine/runs/run-retention.ts';
import { expireSandboxJob, stageSandbox } from '../../../../src/service/engine/runs/sandbox-expiry.ts';
import { expireRunSandboxesJob } from '../../../../src/service/engine/runs/sandbox-retention.ts';
import type { RunHost } from '../../../../src/service/runtimes/run-host.ts';
import { enqueueJob } from '../../../../src/service/store/jobs/jobs.ts';
import { jobKinds } from '../../../../src/service/store/jobs/kinds.ts';
import { keepSandbox } from '../../../../src/service/store/runs/sandboxes.ts';
import { afterTest } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { claimedJob, closeEngine, execute, idleEngine } from '../../helpers/engine.ts';
import { startApi } from '../../helpers/service.ts';

const hour = 60 * 60 * 1_000;
const day = 24 * hour;

async function work(host: RunHost) {
  await host.sandbox.write('note.txt', Buffer.from('note'));
  return { status: 'completed' as const };
}

it('the evaluation of a run that was removed meanwhile is done', async () => {
  const { engine, store, jobOf } = await engineAfter(0);
  await enqueueJob(store, { kind: jobKinds.evaluate, subjectId: 'removed', dueAt: 0 });
  await execute(engine, evaluateJob, 'removed');
  expect((await jobOf(jobKinds.evaluate)).status).toBe('done');
});

/** An engine without a worker, after this many runs have ended. */
async function engineAfter(runs: number, options: Partial<EngineOptions> = {}) {
  const clock = new ManualClock();
  const api = await startApi({ clock, behaviours: { work } });
  for (let count = 0; count < runs; count++) await api.until((await api.run('work')).id, 'completed');
  await api.service.close();
  const logEntries: unknown[][] = [];
  const { dataDirectory } = api;
  const engine = await idleEngine(clock, { dataDirectory, runtimes: [], ...options }, (...entry) => logEntries.push(entry));
  afterTest(() => closeEngine(engine));
  const { store } = engine;
  return {
    ...{ engine, clock, store, logEntries, teamId: api.service.teamId },
    folder: (id: string) => join(dataDirectory, 'sandboxes', id),
    jobOf: (kind: string) => store.selectFrom('jobs').select(['status', 'due_at']).where('kind', '=', kind).executeTakeFirstOrThrow(),
    countRuns: async () => (await store.selectFrom('runs').select('id').execute()).length,
    countSandboxes: async () => (await store.selectFrom('sandboxes').select('id').where('removed_at', 'is', null).execute()).length,
  };
}

const aborted = AbortSignal.abort(new Error('stopped'));

describe('the removal of runs', () => {
  const kind = forgetRunsJob.kind;

  it('reports how many were removed, if there were any', async () => {
    const { engine, clock, logEntries, countRuns, jobOf } = await engineAfter(2, { runRetention: day });
    await execute(engine, forgetRunsJob, 'all');
    expect([await countRuns(), logEntries]).toEqual([2, []]);
    clock.advance(2 * day);
    await execute(engine, forgetRunsJob, 'all');
    expect([await countRuns(), logEntries]).toEqual([0, [['info', 'runs removed', { runs: 2 }]]]);
    expect(await jobOf(kind)).toEqual({ status: 'queued', due_at: clock.now() + hour });
  });

  it('removes nothing once it is aborted, or without a retention time', async () => {
    const stopped = await engineAfter(1, { runRetention: day });
    stopped.clock.advance(2 * day);
    await forgetRunsJob.run(stopped.engine, await claimedJob(stopped.engine, kind, 'all'), aborted);
    expect(await stopped.countRuns()).toBe(1);
    const unlimited = await engineAfter(1);
    unlimited.clock.advance(1_000 * day);
    await execute(unlimited.engine, forgetRunsJob, 'all');
    expect(await unlimited.countRuns()).toBe(1);
    expect(await unlimited.jobOf(kind)).toEqual({ status: 'queued', due_at: unlimited.clock.now() + hour });
  });

  it('can keep runs for longer than there have been computers', async () => {
    const { engine, countRuns } = await engineAfter(1, { runRetention: Number.MAX_SAFE_INTEGER });
    await execute(engine, forgetRunsJob, 'all');
    expect(await countRuns()).toBe(1);
  });
});

describe('the removal of the sandboxes of ended runs', () => {
  const kind = expireRunSandboxesJob.kind;

  it('removes nothing once it is aborted', async () => {
    const { engine, clock, countSandboxes } = await engineAfter(1, { sandboxRetention: day });
    clock.advance(2 * day);
    await expireRunSandboxesJob.run(engine, await claimedJob(engine, kind, 'all'), aborted);
    expect(await countSandboxes()).toBe(1);
    await execute(engine, expireRunSandboxesJob, 'all');
    expect(await countSandboxes()).toBe(0);
  });

  it('ends without a retention time', async () => {
    const { engine, clock, countSandboxes, jobOf } = await engineAfter(1);
    clock.advance(1_000 * day);
    await execute(engine, expireRunSandboxesJob, 'all');
    expect([await countSandboxes(), (await jobOf(kind)).status]).toEqual([1, 'done']);
    // A service that starts without one ends the job, too.
    await claimedJob(engine, kind, 'all');
    await expireRunSandboxesJob.atStart?.(engine);
    expect((await jobOf(kind)).status).toBe('done');
  });

  it('is due again when the next sandbox expires, or after the retention time if there is none', async () => {
    const { engine, clock, countSandboxes, jobOf } = await engineAfter(1, { sandboxRetention: 5 * hour });
    clock.advance(2 * hour);
    await execute(engine, expireRunSandboxesJob, 'all');
    expect([await countSandboxes(), await jobOf(kind)]).toEqual([1, { status: 'queued', due_at: clock.now() + 3 * hour }]);
    clock.advance(3 * hour);
    await execute(engine, expireRunSandboxesJob, 'all');
    expect([await countSandboxes(), await jobOf(kind)]).toEqual([0, { status: 'queued', due_at: clock.now() + 5 * hour }]);
  });
});

describe('a staged sandbox', () => {
  async function stagedSandbox() {
    const parts = await engineAfter(0);
    const { id, expiresAt } = await stageSandbox(parts.engine, parts.teamId);
    await mkdir(parts.folder(id), { recursive: true });
    const state = async () => ({ exists: existsSync(parts.folder(id)), job: await parts.jobOf(expireSandboxJob.kind) });
    return { ...parts, id, expiresAt, state };
  }

  it('is removed a day later, with its files', async () => {
    const { engine, clock, id, expiresAt, state, countSandboxes } = await stagedSandbox();
    const due_at = clock.now() + day;
    expect([Date.parse(expiresAt), (await state()).job]).toEqual([due_at, { status: 'queued', due_at }]);
    // Claimed too early, because the clock was set back.
    clock.set(due_at - 1);
    await execute(engine, expireSandboxJob, id);
    expect([await state(), await countSandboxes()]).toEqual([{ exists: true, job: { status: 'queued', due_at } }, 1]);
    clock.set(due_at);
    await execute(engine, expireSandboxJob, id);
    expect([await state(), await countSandboxes()]).toMatchObject([{ exists: false, job: { status: 'done' } }, 0]);
  });

  it('that a run has taken is not removed', async () => {
    const { engine, clock, id, store, state, countSandboxes } = await stagedSandbox();
    await keepSandbox(store, id);
    clock.advance(2 * day);
    await execute(engine, expireSandboxJob, id);
    expect([await state(), await countSandboxes()]).toMatchObject([{ exists: true, job: { status: 'done' } }, 1]);
  });
});
