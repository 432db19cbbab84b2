/** What a transaction has read in order to decide does not change until its end, whatever the other nodes do at the same time. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { lockRunsOf } from '../../../src/service/engine/dispatch/bulk.ts';
import { remember } from '../../../src/service/engine/revision/memory.ts';
import { lockTeam } from '../../../src/service/store/access/teams.ts';
import type { Queries, Store } from '../../../src/service/store/database/database.ts';
import { lockRows } from '../../../src/service/store/database/row-locks.ts';
import type { JobRow, RunRow } from '../../../src/service/store/database/schema.ts';
import { eventually } from '../../support/eventually.ts';
import { needsPostgres, newDatabase } from '../../support/postgres.ts';
import { describeNeeding } from '../../support/requirements.ts';
import { ManualClock, within } from '../helpers/clock.ts';
import { isLockWaitedFor, openNode } from '../helpers/postgres.ts';
import { type Answer, type Api, startApi, type TestOptions } from '../helpers/service.ts';

/** A service, and a second connection to its database, which stands for another node. */
async function startWithStore(options: TestOptions = {}): Promise<{ api: Api; store: Store }> {
  const url = await newDatabase();
  const api = await startApi({ ...options, database: { url, maxConnections: 5 } });
  return { api, store: await openNode(url, 'other', 3) };
}

/**
 * Does something while another node has made a change and not committed it, and commits the change when whatever is being done waits for
 * it, or has ended without waiting.
 */
async function during<Result>(
  store: Store,
  change: (trx: Queries) => Promise<unknown>,
  act: () => Promise<Result>,
  isWaiting = () => isLockWaitedFor(store),
): Promise<Result> {
  const { result } = await store.transaction().execute(async (trx) => {
    await change(trx);
    let hasEnded = false;
    const result = act().finally(() => {
      hasEnded = true;
    });
    result.catch(() => undefined);
    await eventually('it waits for a lock', async () => hasEnded || (await isWaiting()));
    // In an object, because a transaction would wait for a promise.
    return { result };
  });
  return result;
}

const ask = { ask: async () => ({ status: 'waiting', step: 'ask', request: { type: 'approval', title: 'Continue?' } }) as const };

describeNeeding(needsPostgres, 'while another node', () => {
  it('deletes an agent, nothing is added to it', async () => {
    const { api, store } = await startWithStore();
    const agentId = await api.agent();
    const { builds } = await api.ok('listAgentRevisions', { params: { agent_id: agentId } });
    const build_id = String(builds[0]?.id);
    const { queue } = await api.ok('createQueue', { body: { name: 'Queue' } });
    await api.ok('createCases', { params: { queue_id: queue.id }, body: { case: { title: 'case' } } });
    const schedule = { enabled: true, frequency: 'hourly', timezone: 'UTC' } as const;
    const rubric = { title: 'Polite', description: 'Every message of the run is polite.' };
    const additions: (() => Promise<Answer>)[] = [
      () => api.call('createSchedule', { params: { agent_id: agentId }, body: schedule }),
      () => api.call('createEvalRubric', { params: { agentId }, body: rubric }),
      () => api.call('setAgentSecret', { params: { agent_id: agentId }, body: { name: 'KEY', value: 'secret' } }),
      () => api.call('createRevision', { params: { agent_id: agentId }, body: { name: 'second' } }),
      () => api.call('updateRevision', { params: { build_id }, body: { revision_name: 'renamed' } }),
      () => api.call('startRun', { body: { agent_id: agentId } }),
      () => api.call('bulkReprocessCases', { params: { queue_id: queue.id }, body: { all_matching: true, agent_id: agentId } }),
    ];
    for (const add of additions) {
      const deletion = (deleted_at: string | null) => async (trx: Queries) => {
        await lockTeam(trx, api.service.teamId);
        await trx.updateTable('agents').set({ deleted_at }).where('id', '=', agentId).execute();
      };
      const answer = await during(store, deletion('2026-01-01T00:00:00.000Z'), add);
      expect([answer.status, answer.text]).toEqual([404, expect.stringContaining('_not_found')]);
      await deletion(null)(store);
    }
  });

  it('changes many cases, runs are started, and agents take the cases afterwards', async () => {
    const clock = new ManualClock();
    const { api, store } = await startWithStore({ clock });
    const agent_id = await api.agent();
    const { queue } = await api.ok('createQueue', { body: { name: 'Queue' } });
    const { added_cases: cases } = await api.ok('createCases', { params: { queue_id: queue.id }, body: { case: { title: 'case' } } });
    const case_id = String(cases[0]?.id);
    const dispatch = () => store.selectFrom('jobs').select('due_at').where('subject_id', '=', queue.id).where('status', '=', 'queued');
    await store.transaction().execute(async (trx) => {
      await lockRunsOf(trx, async () => [case_id]);
      await lockRows(trx, 'cases', [case_id]);
      await trx.selectFrom('cases').select('id').execute();
      await api.ok('createAgentCaseTrigger', { params: { agent_id }, body: { case_queue_id: queue.id, enabled: true } });
      await eventually('the dispatch is planned again', async () => {
        const job = await dispatch().executeTakeFirst();
        return job !== undefined && Number(job.due_at) === clock.now() + 250;
      });
      const { run } = await api.ok('startRun', { body: { agent_id } });
      await api.until(run.id, 'completed');
    });
    await within(500, clock, async () => (await api.ok('getCase', { params: { case_id } })).case.status === 'completed');
  });

  it('deletes a label, it is created again for a case', async () => {
    const { api, store } = await startWithStore();
    const { queue } = await api.ok('createQueue', { body: { name: 'Queue' } });
    const { label } = await api.ok('createQueueLabel', { params: { queue_id: queue.id }, body: { value: 'urgent' } });
    const { added_cases: cases } = await api.ok('createCases', { params: { queue_id: queue.id }, body: { case: { title: 'case' } } });
    const params = { queue_id: queue.id, case_id: String(cases[0]?.id) };
    const deletion = (trx: Queries) => trx.deleteFrom('queue_labels').where('id', '=', label.id).execute();
    const { labels } = await during(store, deletion, () => api.ok('assignCaseLabels', { params, body: { labels: [{ value: 'urgent' }] } }));
    expect(labels.map(({ id, value }) => [id === label.id, value])).toEqual([[false, 'urgent']]);
  });

  it('answers a request, it is not reminded of', async () => {
    const clock = new ManualClock();
    const { api, store } = await startWithStore({ clock, behaviours: ask });
    await api.ok('updateLocalTeam', { params: { team_id: api.service.teamId }, body: { remind_after_seconds: 60 } });
    const run = await api.run('ask');
    await api.until(run.id, 'waiting');
    const answer = async (trx: Queries) => {
      await trx.updateTable('runs').set({ status: 'running' }).where('id', '=', run.id).execute();
      await trx.updateTable('human_requests').set({ status: 'answered' }).where('run_id', '=', run.id).execute();
    };
    const jobIs = async (status: JobRow['status']) =>
      (await store.selectFrom('jobs').select('status').where('kind', '=', 'remind').executeTakeFirst())?.status === status;
    // Noted, because the one who sees it first ends it for the other, which must not forget it again.
    let hasWaited = false;
    const isWaiting = async () => {
      if ((await jobIs('running')) && (await isLockWaitedFor(store))) hasWaited = true;
      return hasWaited;
    };
    await during(store, answer, async () => within(120_000, clock, isWaiting), isWaiting);
    await eventually('the job has ended', () => jobIs('done'));
    const { rows } = await sql<{ reminders: number }>`select reminders from human_requests`.execute(store);
    expect(rows).toEqual([{ reminders: 0 }]);
  });

  it('appends to a memory file, nothing of it is lost', async () => {
    const { api, store } = await startWithStore({ behaviours: ask });
    const { id } = await api.run('ask');
    const run = (await store.selectFrom('runs').selectAll().where('id', '=', id).executeTakeFirstOrThrow()) as RunRow;
    const append = (trx: Queries, content: string) => remember(trx, run, { path: 'notes.md', content, append: true }, '');
    const content = await during(
      store,
      (trx) => append(trx, 'one'),
      () => store.transaction().execute((trx) => append(trx, 'two')),
    );
    expect(content).toBe('one\ntwo');
  });

  it('takes the name of a team, no other team gets it', async () => {
    const { api, store } = await startWithStore();
    const other = await api.ok('createLocalTeam', { body: { name: 'Other' } });
    const create = () => api.call('createLocalTeam', { body: { name: 'Team' } });
    const rename = () => api.call('updateLocalTeam', { params: { team_id: other.team.id }, body: { name: 'Team' } });
    const statuses = (await Promise.all([create(), rename(), create(), rename()])).map(({ status }) => status).sort();
    const teams = await store.selectFrom('teams').select('name').where('name', '=', 'Team').execute();
    expect(teams).toHaveLength(1);
    expect(statuses.filter((status) => status < 300).length).toBeGreaterThan(0);
    expect(statuses.every((status) => status < 300 || status === 409)).toBe(true);
  });

  it('deletes a team, it gets no credentials', async () => {
    const { api, store } = await startWithStore();
    const { team } = await api.ok('createLocalTeam', { body: { name: 'Other' } });
    const deletion = (trx: Queries) =>
      trx.updateTable('teams').set({ deleted_at: '2026-01-01T00:00:00.000Z' }).where('id', '=', team.id).execute();
    const answer = await during(store, deletion, () => api.call('createLocalToken', { body: { name: 'late', team_id: team.id } }));
    expect(answer.status).toBe(404);
  });

  it('settles a case, a bulk action finds it settled', async () => {
    const { api, store } = await startWithStore();
    const { queue } = await api.ok('createQueue', { body: { name: 'Queue' } });
    const { added_cases: cases } = await api.ok('createCases', {
      params: { queue_id: queue.id },
      body: { cases: [{ title: 'first' }, { title: 'second' }] },
    });
    const settle = (trx: Queries) => trx.updateTable('cases').set({ status: 'completed' }).where('id', '=', String(cases[0]?.id)).execute();
    const counts = await during(store, settle, () =>
      api.ok('bulkUpdateCaseStatus', { params: { queue_id: queue.id }, body: { all_matching: true, status: 'completed' } }),
    );
    expect(counts).toMatchObject({ updatedCount: 1, skippedCount: 1 });
  });
});
