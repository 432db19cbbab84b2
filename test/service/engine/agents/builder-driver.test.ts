/** How the job of a builder run ends: what becomes of the builder run, of its job, and what the log says, in each case. */
import { describe, expect, it } from 'vitest';
import { builderRunJob } from '../../../../src/service/engine/agents/builder-driver.ts';
import { answerBuilderRun, discardRevision, generateRevision, latestOf } from '../../../../src/service/engine/agents/builder-runs.ts';
import { JobAborted } from '../../../../src/service/engine/jobs/worker.ts';
import type { Runtime } from '../../../../src/service/runtimes/runtime.ts';
import { revokeJob } from '../../../../src/service/store/jobs/jobs.ts';
import { afterTest } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { claimedJob, closeEngine, execute, idleEngine } from '../../helpers/engine.ts';
import { testRuntime } from '../../helpers/runtime.ts';
import { config, startApi } from '../../helpers/service.ts';

type Build = NonNullable<Runtime['builder']>['build'];

/** A builder run whose builder does this. The test executes its job. */
async function pendingBuilderRun(build: Build) {
  const clock = new ManualClock();
  const runtimes = [{ ...testRuntime({ text: async () => ({ status: 'completed' as const }) }), name: 'built', builder: { build } }];
  const api = await startApi({ clock, runtimes });
  const { build: revision } = await api.ok('createAgent', { body: { name: 'A', build: { name: 'b', config: config('text', 'built') } } });
  await api.service.close();
  const logEntries: unknown[] = [];
  const engine = await idleEngine(clock, { dataDirectory: api.dataDirectory, runtimes }, (...entry) => logEntries.push(entry));
  afterTest(() => closeEngine(engine));
  const target = { teamId: api.service.teamId, buildId: revision?.id as string };
  const { id } = await generateRevision(engine, target, 'anything');
  return {
    ...{ engine, clock, target, id, logEntries },
    run: () => latestOf(engine.store, target),
    job: () => engine.store.selectFrom('jobs').select(['status', 'due_at']).where('subject_id', '=', id).executeTakeFirstOrThrow(),
    build: () => execute(engine, builderRunJob, id),
  };
}

const propose: Build = async () => ({ status: 'proposed', procedure: 'text 2', changes: [], setupChanges: [], scheduleSuggested: false });
const ask: Build = async ({ answers }) =>
  answers['Which?'] === undefined ? { status: 'asking', questions: [{ question: 'Which?' }] } : { status: 'failed', error: 'Too late.' };

describe('the job of a builder run', () => {
  it('is done when there is a proposal', async () => {
    const { id, build, run, job, logEntries } = await pendingBuilderRun(propose);
    await build();
    expect([(await run()).status, (await job()).status]).toEqual(['waiting_for_approve', 'done']);
    expect(logEntries).toEqual([['info', 'builder run advanced', { builder_run: id, outcome: 'proposed' }]]);
  });

  it('is parked while questions are pending, and due again when they are answered', async () => {
    const { engine, target, id, build, run, job } = await pendingBuilderRun(ask);
    await build();
    expect([(await run()).status, (await job()).status]).toEqual(['waiting_for_input', 'parked']);
    await answerBuilderRun(engine, { teamId: target.teamId, builderRunId: id }, { answers: { 'Which?': 'this' } });
    expect((await job()).status).toBe('queued');
    await build();
    expect([(await run()).error, (await job()).status]).toEqual(['Too late.', 'done']);
  });

  it('is done, with a warning, if the builder crashes', async () => {
    const { id, build, run, job, logEntries } = await pendingBuilderRun(() => Promise.reject(new Error('out of ideas')));
    await build();
    expect([(await run()).error, (await job()).status]).toEqual(['The builder failed: out of ideas', 'done']);
    expect(logEntries[0]).toMatchObject([
      'warn',
      'a builder run failed with an error of its builder',
      { builder_run: id, error: 'out of ideas' },
    ]);
  });

  it('is done if the builder run was discarded while the builder worked, and stays without a proposal', async () => {
    const pending = await pendingBuilderRun(async (request, enter) => {
      await discardRevision(pending.engine, pending.target);
      return propose(request, enter);
    });
    await pending.build();
    expect(await pending.run()).toMatchObject({ status: 'cancelled', resolution: 'discarded', proposed_config: null });
    expect([(await pending.job()).status, pending.logEntries]).toEqual(['done', []]);
  });

  it('changes and reports nothing if another worker has taken it', async () => {
    const { engine, id, run, job, logEntries } = await pendingBuilderRun(propose);
    const claim = await claimedJob(engine, builderRunJob.kind, id);
    await revokeJob(engine.store, builderRunJob.kind, id);
    const before = await run();
    await builderRunJob.run(engine, claim, new AbortController().signal);
    expect([await run(), (await job()).status, logEntries]).toEqual([before, 'done', []]);
  });

  it('is left to the next start if the service is shut down', async () => {
    const { engine, clock, id, run, job } = await pendingBuilderRun(propose);
    const claim = await claimedJob(engine, builderRunJob.kind, id);
    const before = await run();
    await builderRunJob.run(engine, claim, AbortSignal.abort(new JobAborted('shutdown')));
    expect([await run(), await job()]).toEqual([before, { status: 'running', due_at: clock.now() }]);
  });
});
