/** Transactions on Postgres that need the same rows do not end each other, because they lock them in the same order. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { Run } from '../../../src/interface/types.ts';
import { recordRunEvents, runEvent } from '../../../src/service/engine/webhooks/run-events.ts';
import { scriptRuntime } from '../../../src/service/runtimes/script/script-runtime.ts';
import { insertTeam, lockTeam } from '../../../src/service/store/access/teams.ts';
import { deleteCaseRows } from '../../../src/service/store/cases/cases.ts';
import type { Queries, Store } from '../../../src/service/store/database/database.ts';
import { lockLateRow, lockRows } from '../../../src/service/store/database/row-locks.ts';
import type { RunRow } from '../../../src/service/store/database/schema.ts';
import { sumTotals } from '../../../src/service/store/runs/run-totals.ts';
import { changeRun } from '../../../src/service/store/runs/runs.ts';
import { eventually } from '../../support/eventually.ts';
import { needsPostgres, newDatabase } from '../../support/postgres.ts';
import { describeNeeding } from '../../support/requirements.ts';
import { ManualClock, within } from '../helpers/clock.ts';
import { lateLocks } from '../helpers/lock-order.ts';
import { isLockWaitedFor, openNode, openNodes } from '../helpers/postgres.ts';
import { insertRuns } from '../helpers/rows.ts';
import { type Behaviour, Gate, testRuntime } from '../helpers/runtime.ts';
import { type Api, config, startApi } from '../helpers/service.ts';

const clock = new ManualClock();
const createdAt = '2026-07-18T09:00:00.000Z';

/** Two nodes and a team that wants all events of its three runs, of which none has begun. */
async function team() {
  const [first, second, observer] = (await openNodes('first', 'second', 'observer')) as [Store, Store, Store];
  await insertTeam(first, { id: 't', name: 'T', created_at: createdAt });
  await insertRuns(first, 't');
  await sql`insert into webhook_subscriptions (id, team_id, url, events, enabled, failures, created_at, updated_at)
    values ('s', 't', 'http://127.0.0.1:9/', '["*"]', 1, 0, '', '')`.execute(first);
  return { first, second, observer };
}

/** Begins or ends a run. */
const change = async (trx: Queries, id: string, status: 'running' | 'completed'): Promise<RunRow> =>
  (await changeRun(trx, id, [status === 'running' ? 'pending' : 'running'], { status })) as RunRow;

const report = (trx: Queries, run: RunRow) => recordRunEvents(clock, trx, run, [runEvent(trx, 'run.started', run)]);

describeNeeding(needsPostgres, 'transactions of two nodes', () => {
  it('of which one locks the team and begins a run, and the other ends a run of it, are executed once', async () => {
    const { first, second, observer } = await team();
    await first.transaction().execute((trx) => change(trx, 't 1', 'running'));
    const [teamIsLocked, runHasEnded] = [new Gate(), new Gate()];
    let attempts = 0;
    let hasBegun = false;
    const beginning = first.transaction().execute(async (trx) => {
      attempts += 1;
      await lockTeam(trx, 't');
      teamIsLocked.open();
      await runHasEnded.opened;
      await report(trx, await change(trx, 't 0', 'running'));
      hasBegun = true;
    });
    const ending = second.transaction().execute(async (trx) => {
      attempts += 1;
      await teamIsLocked.opened;
      const run = await change(trx, 't 1', 'completed');
      runHasEnded.open();
      await eventually('the other has done its work, or waits', async () => hasBegun || (await isLockWaitedFor(observer)));
      await report(trx, run);
    });
    await Promise.all([beginning, ending]);
    expect(attempts).toBe(2);
    const { rows } = await sql<{ seq: number }>`select seq from deliveries order by seq`.execute(observer);
    expect(rows.map(({ seq }) => seq)).toEqual([1, 2]);
  });

  it('that change the totals of two teams in opposite orders are executed once', async () => {
    const { first, second, observer } = await team();
    await insertTeam(first, { id: 'u', name: 'U', created_at: createdAt });
    await insertRuns(first, 'u');
    const gates = [new Gate(), new Gate()] as const;
    let attempts = 0;
    const begin = (store: Store, own: Gate, other: Gate, ids: readonly string[]) =>
      store.transaction().execute(async (trx) => {
        attempts += 1;
        for (const id of ids) {
          await change(trx, id, 'running');
          own.open();
          await other.opened;
        }
      });
    await Promise.all([begin(first, gates[0], gates[1], ['t 0', 'u 0']), begin(second, gates[1], gates[0], ['u 1', 't 1'])]);
    expect(attempts).toBe(2);
    for (const teamId of ['t', 'u']) expect(await sumTotals(observer, { teamId, statuses: ['running'] })).toBe(2);
  });

  it('do not wait for rows that they should have locked before, and are executed again', async () => {
    const { first, second } = await team();
    const [isLocked, isRepeated] = [new Gate(), new Gate()];
    const holding = first.transaction().execute(async (trx) => {
      await lockRows(trx, 'runs', ['t 0']);
      // The lock is sent with the next statement.
      await trx.selectFrom('runs').select('id').execute();
      isLocked.open();
      await isRepeated.opened;
    });
    await isLocked.opened;
    let attempts = 0;
    await second.transaction().execute(async (trx) => {
      attempts += 1;
      if (attempts === 2) {
        isRepeated.open();
        await holding;
      }
      await lockLateRow(trx, 'runs', 't 0');
    });
    expect(attempts).toBe(2);
  });
});

const untilLater: Behaviour = async (host) => ({ status: 'sleeping', until: host.clock.now() + 60_000 });
const asks: Behaviour = async (host) =>
  host.answer('go') === undefined
    ? { status: 'waiting', step: 'go', request: { type: 'approval', title: 'Go on?' } }
    : { status: 'completed' };

/** A case, and the run that executes it or waits for a person. */
interface Work {
  api: Api;
  run: Run;
  agentId: string;
  queueId: string;
  caseId: string;
  triggerId: string;
}

async function workOnCase(behaviour: 'untilLater' | 'asks', clock: ManualClock): Promise<Work> {
  const runtimes = [testRuntime({ untilLater, asks }), scriptRuntime];
  const api = await startApi({ clock, runtimes, database: { url: await newDatabase(), maxConnections: 5 } });
  await api.ok('updateLocalTeam', { params: { team_id: api.service.teamId }, body: { remind_after_seconds: 60 } });
  const agentId = await api.agent(behaviour);
  const { queue } = await api.ok('createQueue', { body: { name: 'Queue' } });
  const { case_trigger: trigger } = await api.ok('createAgentCaseTrigger', {
    params: { agent_id: agentId },
    body: { case_queue_id: queue.id, enabled: true },
  });
  const { added_cases: cases } = await api.ok('createCases', { params: { queue_id: queue.id }, body: { case: { title: 'Case' } } });
  const status = behaviour === 'asks' ? 'waiting' : 'running';
  const run = await eventually('the run has begun', async () => {
    const { data } = await api.ok('listRuns', { query: { status } });
    return data[0];
  });
  return { api, run, agentId, queueId: queue.id, caseId: String(cases[0]?.id), triggerId: trigger.id };
}

/** What meets a run that is executed for a case. */
const duringRun: Record<string, (work: Work) => Promise<unknown>> = {
  'stopping it': ({ api, run }) => api.ok('stopRun', { params: { run_id: run.id } }),
  'a message to it': ({ api, run }) => api.ok('postRunMessage', { params: { run_id: run.id }, body: { message: 'More' } }),
  'deleting its agent': ({ api, agentId }) => api.ok('deleteAgent', { params: { agent_id: agentId } }),
  'deleting its case': ({ api, caseId }) => api.ok('deleteCase', { params: { case_id: caseId } }),
  'deleting several cases': ({ api, queueId }) =>
    api.ok('bulkDeleteCases', { params: { queue_id: queueId }, body: { all_matching: true } }),
  're-opening cases': ({ api, queueId }) =>
    api.ok('bulkUpdateCaseStatus', { params: { queue_id: queueId }, body: { all_matching: true, status: 'pending' } }),
  'clearing its queue': ({ api, queueId }) => api.ok('clearQueueCases', { params: { queue_id: queueId } }),
  async 'deleting its queue'({ api, agentId, queueId, triggerId }) {
    await api.ok('deleteAgentCaseTrigger', { params: { agent_id: agentId, trigger_id: triggerId } });
    await api.ok('deleteQueue', { params: { queue_id: queueId } });
  },
};

const answerIt = async ({ api, run }: Work): Promise<unknown> =>
  api.ok('respondToHumanRequest', {
    params: { run_id: run.id, request_id: String(run.pending_human_request?.id) },
    body: { approved: true },
  });

/** What meets a run that waits for a person. */
const whileWaiting: typeof duringRun = {
  'stopping it': duringRun['stopping it'] as (work: Work) => Promise<unknown>,
  'answering it': answerIt,
  'answering it with a message': duringRun['a message to it'] as (work: Work) => Promise<unknown>,
};

describeNeeding(needsPostgres, 'the deletion of all cases of a queue', () => {
  it.each(['clearQueueCases', 'deleteQueue'] as const)('waits for a change of one before it deletes anything of them (%s)', async (id) => {
    const url = await newDatabase();
    const api = await startApi({ database: { url, maxConnections: 5 } });
    const { queue } = await api.ok('createQueue', { body: { name: 'Cases' } });
    const params = { queue_id: queue.id };
    const drafts = ['a', 'b'].map((title) => ({ title, labels: [{ key: 'k', value: title }] }));
    const { added_cases: cases } = await api.ok('createCases', { params, body: { cases: drafts } });
    const [changed, observer] = [cases[1]?.id as string, await openNode(url, 'observer')];
    const store = await openNode(url, 'other');
    let deletion: Promise<unknown> | undefined;
    await store.transaction().execute(async (trx) => {
      await sql`select id from cases where id = ${changed} for no key update`.execute(trx);
      deletion = api.ok(id, { params });
      await eventually('it waits', async () => (await isLockWaitedFor(observer)) || undefined);
      await deleteCaseRows(trx, [changed]);
    });
    // The one that is gone is not counted.
    expect(await deletion).toMatchObject(id === 'deleteQueue' ? { deleted_case_count: 1 } : { deletedCount: 1 });
    const figures = sql`select deadlocks from pg_stat_database where datname = current_database()`;
    await api.service.close();
    expect((await figures.execute(observer)).rows).toEqual([{ deadlocks: 0 }]);
  });
});

describeNeeding(needsPostgres, 'every transaction locks rows in the same order', () => {
  it.each(Object.entries(duringRun))('%s while a run is executed for a case', async (_, act) => {
    const late = lateLocks();
    const work = await workOnCase('untilLater', new ManualClock());
    await act(work);
    await work.api.service.close();
    expect([...late]).toEqual([]);
  });

  it.each(Object.entries(whileWaiting))('%s while a run waits for a person', async (_, act) => {
    const late = lateLocks();
    const work = await workOnCase('asks', new ManualClock());
    await act(work);
    await work.api.until(work.run.id, 'completed', 'interrupted');
    expect([...late]).toEqual([]);
  });

  it('removing runs and their sandboxes', async () => {
    const late = lateLocks();
    const clock = new ManualClock();
    const database = { url: await newDatabase(), maxConnections: 5 };
    const api = await startApi({ clock, runRetention: 120_000, sandboxRetention: 60_000, database });
    const run = await api.run();
    await api.until(run.id, 'completed');
    const isGone = async () => (await api.call('getRun', { params: { run_id: run.id } })).status === 404;
    await within(2 * 60 * 60_000, clock, isGone);
    expect([...late]).toEqual([]);
  });

  it('reminding of a request, and generating a revision', async () => {
    const late = lateLocks();
    const clock = new ManualClock();
    const { api, run } = await workOnCase('asks', clock);
    await within(70_000, clock, async () => {
      const { human_requests: requests } = await api.ok('listRunHumanRequests', { params: { run_id: run.id } });
      return requests[0]?.reminders === 1;
    });
    const { agent } = await api.ok('createAgent', { body: { name: 'Script' } });
    const body = { name: 'first', config: config('version: 1\nsteps:\n  - say: Hello\n', 'script') };
    const { build } = await api.ok('createRevision', { params: { agent_id: agent.id }, body });
    await api.ok('generateRevision', { params: { build_id: build.id }, body: { prompt: 'say "Bye" at the end' } });
    await eventually('the builder run proposes something', async () => {
      const { status } = await api.ok('getLatestBuilderRun', { params: { build_id: build.id } });
      return status === 'waiting_for_approve';
    });
    expect([...late]).toEqual([]);
  });
});
