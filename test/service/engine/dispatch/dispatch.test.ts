/** One execution of the job that gives the cases of a queue to its agents: what it starts, when it is due again, and what the log says. */
import { expect, it } from 'vitest';
import type { NewCase } from '../../../../src/interface/types.ts';
import { createCases } from '../../../../src/service/engine/cases/create.ts';
import { dispatchCasesJob } from '../../../../src/service/engine/dispatch/dispatch.ts';
import { createTrigger } from '../../../../src/service/engine/dispatch/triggers.ts';
import { usesPostgres } from '../../../support/postgres.ts';
import { afterTest } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { closeEngine, execute, idleEngine } from '../../helpers/engine.ts';
import { testRuntime } from '../../helpers/runtime.ts';
import { startApi } from '../../helpers/service.ts';

const minute = 60_000;

/** A queue with these cases, and an agent that works on it. The test executes its job. */
async function queueOf(drafts: readonly NewCase[]) {
  const clock = new ManualClock();
  const runtimes = [testRuntime({ work: async () => ({ status: 'completed' }) })];
  const plan = {
    ...{ name: 'p', maxConcurrentRuns: 100, runCountingMode: 'started' as const, features: [], products: [] },
    limits: { agentRuns: 'unlimited', assignments: 'unlimited', clarityInterviews: 'unlimited' } as const,
  };
  const api = await startApi({ clock, runtimes, plan });
  const { queue } = await api.ok('createQueue', { body: { name: 'Invoices' } });
  const agentId = await api.agent('work');
  await api.service.close();
  const logEntries: unknown[] = [];
  const engine = await idleEngine(clock, { dataDirectory: api.dataDirectory, runtimes }, (...entry) => logEntries.push(entry));
  afterTest(() => closeEngine(engine));
  const { store } = engine;
  const { teamId } = api.service;
  await createTrigger(engine, { teamId, credentialId: 'c', agentId }, { case_queue_id: queue.id, enabled: true });
  await store.transaction().execute(async (trx) => {
    const row = await trx.selectFrom('queues').selectAll().where('id', '=', queue.id).executeTakeFirstOrThrow();
    await createCases(engine, trx, row, drafts);
  });
  return {
    ...{ store, clock, agentId, queueId: queue.id, logEntries },
    dispatch: () => execute(engine, dispatchCasesJob, queue.id),
    job: () => store.selectFrom('jobs').select(['status', 'due_at']).where('subject_id', '=', queue.id).executeTakeFirstOrThrow(),
    runCount: async () => (await store.selectFrom('runs').select('id').execute()).length,
  };
}

it('starts a run for each case, whose message is the title and the data, if any', async () => {
  const { store, queueId, dispatch, job, runCount, logEntries } = await queueOf([{ title: 'a' }, { title: 'b', data: 'with data' }]);
  await dispatch();
  expect([await runCount(), (await job()).status]).toEqual([2, 'done']);
  const messages = await store.selectFrom('messages').select('text_content').where('type', '=', 'message').execute();
  expect(messages.map(({ text_content }) => text_content).sort()).toEqual(['a', 'b\n\nwith data']);
  expect(logEntries).toEqual([['info', 'cases dispatched', { queue: queueId, cases: 2 }]]);
});

it('starts only some of many runs at a time, and is due again at once', async () => {
  const [first, rest] = usesPostgres ? [5, 3] : [20, 3];
  const { clock, queueId, dispatch, job, runCount, logEntries } = await queueOf(
    Array.from({ length: first + rest }, (_, index) => ({ title: `Case ${index}` })),
  );
  await dispatch();
  expect([await runCount(), await job()]).toEqual([first, { status: 'queued', due_at: clock.now() }]);
  await dispatch();
  expect([await runCount(), (await job()).status]).toEqual([first + rest, 'done']);
  expect(logEntries).toEqual([first, rest].map((cases) => ['info', 'cases dispatched', { queue: queueId, cases }]));
});

it('tries again a minute later if a run cannot be started, and says why', async () => {
  const { store, clock, agentId, queueId, dispatch, job, runCount, logEntries } = await queueOf([{ title: 'a' }]);
  await store.updateTable('agents').set({ live_build_id: null }).execute();
  await dispatch();
  expect([await runCount(), await job()]).toEqual([0, { status: 'queued', due_at: clock.now() + minute }]);
  const refusal = { queue: queueId, agent: agentId, error: expect.any(String), message: expect.stringContaining('live') };
  expect(logEntries).toEqual([['warn', 'a case could not be started', refusal]]);
});

it('starts nothing, and fails, if the service itself fails', async () => {
  const { store, dispatch, runCount, logEntries } = await queueOf([{ title: 'a' }]);
  await store.updateTable('builds').set({ config: 'not JSON' }).execute();
  await expect(dispatch()).rejects.toThrow();
  expect([await runCount(), logEntries]).toEqual([0, []]);
});
