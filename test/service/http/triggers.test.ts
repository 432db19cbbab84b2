import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import type { Body, Case, CaseTrigger, RevisionConfig } from '../../../src/interface/types.ts';
import { dispatchCasesJob } from '../../../src/service/engine/dispatch/dispatch.ts';
import { scriptRuntime } from '../../../src/service/runtimes/script/script-runtime.ts';
import { type ClaimedJob, claimJob, nudgeJob } from '../../../src/service/store/jobs/jobs.ts';
import { jobKinds } from '../../../src/service/store/jobs/kinds.ts';
import { eventually } from '../../support/eventually.ts';
import { ManualClock, within } from '../helpers/clock.ts';
import { covers } from '../helpers/coverage.ts';
import { Gate, testRuntime } from '../helpers/runtime.ts';
import { type Api, config, type TestOptions } from '../helpers/service.ts';
import { inStore } from '../helpers/stored.ts';
import { deliveries, failure, receiver } from '../helpers/webhooks.ts';

const service = covers('triggers');
const unknownId = '00000000-0000-4000-8000-000000000001';

type Drafts = NonNullable<Body<'createCases'>['cases']>;

/** A service with a queue. */
async function withQueue(options: TestOptions = {}): Promise<{ api: Api; queue_id: string }> {
  const { behaviours = {}, ...rest } = options;
  const runtimes = [testRuntime({ done: async () => ({ status: 'completed' }), ...behaviours }), scriptRuntime];
  const api = await service({ runtimes, ...rest });
  const { queue } = await api.ok('createQueue', { body: { name: 'Invoices' } });
  return { api, queue_id: queue.id };
}

async function add(api: Api, queue_id: string, cases: Drafts): Promise<Case[]> {
  return (await api.ok('createCases', { params: { queue_id }, body: { cases } })).added_cases;
}

/** An agent that follows these steps. */
async function scriptedAgent(api: Api, name: string, steps: string): Promise<string> {
  const procedure = config(`version: 1\nsteps:\n${steps.replace(/^/gm, '  ')}\n`, 'script');
  return (await api.ok('createAgent', { body: { name, build: { name: 'first', config: procedure } } })).agent.id;
}

async function trigger(
  api: Api,
  agent_id: string,
  queue_id: string,
  overrides: { enabled?: boolean; concurrency?: 1 | null } = {},
): Promise<CaseTrigger> {
  const body = { case_queue_id: queue_id, enabled: true, ...overrides };
  return (await api.ok('createAgentCaseTrigger', { params: { agent_id }, body })).case_trigger;
}

const read = async (api: Api, id: string) => api.ok('getCase', { params: { case_id: id } });

/** The case, once it has that display status. The time limit of the test bounds this. */
async function until(api: Api, id: string, ...statuses: Case['display_status'][]): Promise<Case> {
  for (;;) {
    const currentCase = await read(api, id);
    if (statuses.includes(currentCase.case.display_status)) return currentCase.case;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A plan whose only limit is the number of runs at the same time. */
const smallPlan = (maxConcurrentRuns: number): TestOptions['plan'] => ({
  name: 'small',
  limits: { agentRuns: 'unlimited', assignments: 'unlimited', clarityInterviews: 'unlimited' },
  maxConcurrentRuns,
  runCountingMode: 'started',
  features: [],
  products: [],
});

const history = async (api: Api, id: string) => (await read(api, id)).events.map(({ type }) => type);

describe('case triggers', () => {
  it('are created, read, changed, and deleted; an agent has at most one', async () => {
    const { api, queue_id } = await withQueue();
    const agent_id = await api.agent();
    expect(await api.ok('listAgentCaseTriggers', { params: { agent_id } })).toEqual({ case_triggers: [] });
    const createdTrigger = await trigger(api, agent_id, queue_id, { concurrency: 1 });
    expect(createdTrigger).toMatchObject({
      agent_id,
      case_queue_id: queue_id,
      case_queue_name: 'Invoices',
      enabled: true,
      concurrency: 1,
      creator_display_name: 'Local',
      can_disable: true,
      has_conflict: false,
      conflicting_agents: [],
    });
    const triggerParams = { agent_id, trigger_id: createdTrigger.id };
    expect((await api.ok('getAgentCaseTrigger', { params: triggerParams })).case_trigger).toEqual(createdTrigger);
    expect((await api.ok('listAgentCaseTriggers', { params: { agent_id } })).case_triggers).toEqual([createdTrigger]);
    const { queue: otherQueue } = await api.ok('createQueue', { body: { name: 'Claims' } });
    for (const [id, text] of [
      [queue_id, 'on this queue'],
      [otherQueue.id, 'on the queue "Invoices"'],
    ] as const) {
      const second = await api.call('createAgentCaseTrigger', { params: { agent_id }, body: { case_queue_id: id, enabled: true } });
      expect(failure(second)).toEqual([409, 'agent_has_case_trigger']);
      expect(second.body).toHaveProperty('message', expect.stringContaining(text));
    }
    expect((await api.ok('updateAgentCaseTrigger', { params: triggerParams, body: {} })).case_trigger).toMatchObject({ concurrency: 1 });
    const changedTrigger = await api.ok('updateAgentCaseTrigger', {
      params: triggerParams,
      body: { case_queue_id: otherQueue.id, enabled: false, concurrency: null },
    });
    expect(changedTrigger.case_trigger).toMatchObject({ case_queue_name: 'Claims', enabled: false, concurrency: null });
    expect((await api.ok('updateAgentCaseTrigger', { params: triggerParams, body: {} })).case_trigger).toMatchObject({ enabled: false });
    expect(await api.ok('deleteAgentCaseTrigger', { params: triggerParams })).toEqual({ success: true });
    expect(failure(await api.call('getAgentCaseTrigger', { params: triggerParams }))).toEqual([404, 'case_trigger_not_found']);
    expect(failure(await api.call('deleteAgentCaseTrigger', { params: triggerParams }))).toEqual([404, 'case_trigger_not_found']);
    expect(failure(await api.call('updateAgentCaseTrigger', { params: triggerParams, body: {} }))).toEqual([404, 'case_trigger_not_found']);
  });

  it('report the other agents on their queue, which are allowed', async () => {
    const { api, queue_id } = await withQueue();
    const [firstAgent, secondAgent] = [await api.agent('done', 'One'), await api.agent('done', 'Two')];
    const preview = (agent_id: string) =>
      api.ok('previewAgentCaseTriggerConflicts', { params: { agent_id }, query: { case_queue_id: queue_id } });
    expect(await preview(secondAgent)).toEqual({ has_conflict: false, conflicting_agents: [] });
    const first = await trigger(api, firstAgent, queue_id);
    expect(await preview(secondAgent)).toEqual({ has_conflict: true, conflicting_agents: [{ id: firstAgent, name: 'One' }] });
    expect(await preview(firstAgent)).toMatchObject({ has_conflict: false });
    expect(await trigger(api, secondAgent, queue_id)).toMatchObject({
      has_conflict: true,
      conflicting_agents: [{ id: firstAgent, name: 'One' }],
    });
    const { agents } = await api.ok('listAgents');
    expect(
      agents.map(({ name, ...agent }) => [name, agent.case_trigger_enabled, agent.case_trigger_has_conflict, agent.case_queue_name]),
    ).toEqual([
      ['Two', true, true, 'Invoices'],
      ['One', true, true, 'Invoices'],
    ]);
    // A disabled trigger conflicts with nothing.
    await api.ok('updateAgentCaseTrigger', { params: { agent_id: firstAgent, trigger_id: first.id }, body: { enabled: false } });
    expect(await preview(secondAgent)).toMatchObject({ has_conflict: false });
  });

  it('reject unknown IDs, those of another team, and invalid fields', async () => {
    const { api, queue_id } = await withQueue();
    const agent_id = await api.agent();
    const body = { case_queue_id: queue_id, enabled: true };
    expect(failure(await api.call('createAgentCaseTrigger', { params: { agent_id: unknownId }, body }))).toEqual([404, 'agent_not_found']);
    expect(
      failure(await api.call('createAgentCaseTrigger', { params: { agent_id }, body: { ...body, case_queue_id: unknownId } })),
    ).toEqual([404, 'queue_not_found']);
    for (const invalidBody of [{}, { enabled: true }, { ...body, concurrency: 2 }, { ...body, case_queue_id: 'x' }])
      expect(failure(await api.call('createAgentCaseTrigger', { params: { agent_id }, body: invalidBody }))).toEqual([
        400,
        'invalid_request',
      ]);
    const { id } = await trigger(api, agent_id, queue_id);
    const otherAgent = await api.agent('done', 'Other');
    expect(failure(await api.call('getAgentCaseTrigger', { params: { agent_id: otherAgent, trigger_id: id } }))).toEqual([
      404,
      'case_trigger_not_found',
    ]);
    const otherTeam = await api.inNewTeam();
    for (const [call, input] of [
      ['listAgentCaseTriggers', { params: { agent_id } }],
      ['getAgentCaseTrigger', { params: { agent_id, trigger_id: id } }],
      ['deleteAgentCaseTrigger', { params: { agent_id, trigger_id: id } }],
      ['updateAgentCaseTrigger', { params: { agent_id, trigger_id: id }, body: {} }],
      ['previewAgentCaseTriggerConflicts', { params: { agent_id }, query: { case_queue_id: queue_id } }],
    ] as const)
      expect(failure(await otherTeam.call(call, input as object)), call).toEqual([404, 'agent_not_found']);
    expect(failure(await api.call('previewAgentCaseTriggerConflicts', { params: { agent_id } }))).toEqual([400, 'invalid_request']);
    expect(
      failure(await api.call('previewAgentCaseTriggerConflicts', { params: { agent_id }, query: { case_queue_id: unknownId } })),
    ).toEqual([404, 'queue_not_found']);
    const update = await api.call('updateAgentCaseTrigger', { params: { agent_id, trigger_id: id }, body: { case_queue_id: unknownId } });
    expect(failure(update)).toEqual([404, 'queue_not_found']);
    expect(failure(await otherTeam.call('listQueueAgents', { params: { queue_id } }))).toEqual([404, 'queue_not_found']);
    expect(failure(await api.call('deleteQueue', { params: { queue_id } }))).toEqual([409, 'queue_in_use']);
  });
});

describe('dispatching', () => {
  it('starts a run for each case, which sees the case', async () => {
    const { api, queue_id } = await withQueue();
    const hook = await receiver();
    await api.ok('createTeamWebhook', { body: { url: hook.url, events: ['queue.case.claimed', 'queue.case.completed'] } });
    const agent_id = await scriptedAgent(
      api,
      'Checker',
      '- say: "{{ case.title }}: {{ case.data.amount }} {{ case.labels.vendor }}"\n- complete_case: "Booked"',
    );
    await trigger(api, agent_id, queue_id);
    const [row] = (await add(api, queue_id, [
      { title: 'Invoice 7', data: '{"amount": 3}', labels: [{ key: 'vendor', value: 'acme' }] },
    ])) as [Case];
    const completedCase = await until(api, row.id, 'completed');
    expect(completedCase).toMatchObject({ status: 'completed', completed_at: expect.any(String), claimed_at: expect.any(String) });
    const run_id = completedCase.claimed_by_run_id as string;
    await api.until(run_id, 'completed');
    expect(await read(api, row.id)).toMatchObject({ case: { agent_run_status: 'completed' } });
    expect(await api.texts(run_id)).toEqual(['Invoice 7\n\n{"amount": 3}', 'Invoice 7: 3 acme', 'tool_call', 'tool_result']);
    const { events } = await read(api, row.id);
    expect(events.map(({ type, agent_id, agent_run_id, reason }) => [type, agent_id, agent_run_id, reason])).toEqual([
      ['created', null, null, null],
      ['claimed', agent_id, run_id, null],
      ['completed', agent_id, run_id, 'Booked'],
    ]);
    const { runs } = await api.ok('listCaseRuns', { params: { case_id: row.id } });
    expect(runs).toMatchObject([
      { id: run_id, case_queue_item_id: row.id, agent_name: 'Checker', source: 'case_trigger', has_pending_human_request: false },
    ]);
    const recent = await api.ok('listCaseRunRecentMessages', { params: { case_id: row.id, run_id }, query: { limit: 3 } });
    expect(recent.messages.map((message) => message.text_content ?? message.type)).toEqual([
      'Invoice 7: 3 acme',
      'tool_call',
      'tool_result',
    ]);
    // The list of runs includes the case, and can be filtered by its queue.
    await api.run();
    const { data } = await api.ok('listRuns', { query: { case_queue_id: queue_id } });
    expect(data).toMatchObject([
      {
        id: run_id,
        title: 'Invoice 7',
        case_queue_item_id: row.id,
        case_queue_id: queue_id,
        case_queue_name: 'Invoices',
        case_title: 'Invoice 7',
        postponed_to: null,
      },
    ]);
    expect((await api.ok('listRuns')).data[0]).toMatchObject({ case_queue_item_id: null, case_queue_id: null });
    expect((await api.ok('listRuns', { query: { case_queue_id: unknownId } })).total).toBe(0);
    expect((await deliveries(api)).map(({ event }) => event).sort()).toEqual(['queue.case.claimed', 'queue.case.completed']);
  });

  it('starts a run with only the title of a case without data', async () => {
    const { api, queue_id } = await withQueue();
    await trigger(api, await scriptedAgent(api, 'Checker', '- say: "[{{ message }}]"'), queue_id);
    const [row] = (await add(api, queue_id, [{ title: 'Invoice 7' }])) as [Case];
    const { claimed_by_run_id } = await until(api, row.id, 'completed');
    await api.until(claimed_by_run_id as string, 'completed');
    expect(await api.texts(claimed_by_run_id as string)).toEqual(['Invoice 7', '[Invoice 7]']);
  });

  it('takes cases whose postponement has ended first, then by priority, then by age', async () => {
    const clock = new ManualClock();
    const order: string[] = [];
    const { api, queue_id } = await withQueue({
      clock,
      behaviours: {
        work: async (host) => {
          order.push(host.case?.title ?? '');
          if (host.case?.title === 'later' && order.length === 1) {
            await host.act('p', { do: 'postpone', until: clock.now() + 60_000 });
          }
          return { status: 'completed' };
        },
      },
    });
    const agent_id = await api.agent('work');
    const { id } = await trigger(api, agent_id, queue_id, { concurrency: 1 });
    const [laterCase] = (await add(api, queue_id, [{ title: 'later' }])) as [Case];
    expect(await until(api, laterCase.id, 'postponed')).toMatchObject({
      postponed_to: '2026-07-18T09:01:00.000Z',
      claimed_by_run_id: null,
    });
    const triggerParams = { agent_id, trigger_id: id };
    await api.ok('updateAgentCaseTrigger', { params: triggerParams, body: { enabled: false } });
    const addedCases = await add(api, queue_id, [
      { title: 'old none' },
      { title: 'medium', priority: 'medium' },
      { title: 'high 1', priority: 'high' },
      { title: 'high 2', priority: 'high' },
      { title: 'new none' },
    ]);
    clock.advance(60_000);
    expect((await api.ok('searchCases', { params: { queue_id }, body: { filters: { status: ['pending'] } } })).total).toBe(6);
    await api.ok('updateAgentCaseTrigger', { params: triggerParams, body: { enabled: true } });
    for (const { id } of addedCases) await until(api, id, 'completed');
    expect(order).toEqual(['later', 'later', 'high 1', 'high 2', 'medium', 'old none', 'new none']);
    expect(await history(api, laterCase.id)).toEqual(['created', 'claimed', 'postponed', 'claimed', 'completed']);
  });

  it('takes a postponed case when it is due, and not before', async () => {
    const clock = new ManualClock();
    const { api, queue_id } = await withQueue({ clock });
    const agent_id = await scriptedAgent(api, 'Patient', '- if: case.tags.size == 0\n  postpone_case: { for: 1h }\n- say: done');
    await trigger(api, agent_id, queue_id);
    const [row] = (await add(api, queue_id, [{ title: 'a' }])) as [Case];
    await until(api, row.id, 'postponed');
    await api.ok('assignCaseLabels', { params: { queue_id, case_id: row.id }, body: { labels: [{ value: 'ready' }] } });
    clock.advance(3_599_000);
    await new Promise((resolve) => setImmediate(resolve));
    expect((await read(api, row.id)).case.display_status).toBe('postponed');
    await within(10_000, clock, async () => (await read(api, row.id)).case.status === 'completed');
    expect((await api.ok('listCaseRuns', { params: { case_id: row.id } })).runs).toHaveLength(2);
  });

  it('respects a concurrency of one, even while the run waits for a person', async () => {
    const { api, queue_id } = await withQueue();
    const agent_id = await scriptedAgent(api, 'Asker', '- approve: { id: go, title: "Do {{ case.title }}?" }');
    await trigger(api, agent_id, queue_id, { concurrency: 1 });
    const [a, b] = (await add(api, queue_id, [{ title: 'a' }, { title: 'b' }])) as [Case, Case];
    const waitingCase = await until(api, a.id, 'needs_input');
    expect(waitingCase).toMatchObject({ status: 'pending', agent_run_status: 'waiting', pending_human_request_id: expect.any(String) });
    expect((await read(api, b.id)).case.display_status).toBe('pending');
    expect((await api.ok('searchCases', { params: { queue_id }, body: { filters: { status: ['needs_input'] } } })).cases[0]?.id).toBe(a.id);
    const { runs } = await api.ok('listCaseRuns', { params: { case_id: a.id } });
    expect(runs[0]).toMatchObject({ has_pending_human_request: true, pending_human_request_title: 'Do a?' });
    const { consumers } = await api.ok('listQueueAgents', { params: { queue_id } });
    expect(consumers).toMatchObject([{ concurrency_limit: 1, at_concurrency_limit: true }]);
    const answer = { run_id: runs[0]?.id as string, request_id: waitingCase.pending_human_request_id as string };
    await api.ok('respondToHumanRequest', { params: answer, body: { approved: true } });
    await until(api, a.id, 'completed');
    await until(api, b.id, 'needs_input');
    expect((await read(api, a.id)).events.map(({ type, reason, human_request_title }) => [type, reason, human_request_title])).toEqual([
      ['created', null, null],
      ['claimed', null, null],
      ['needs_input', null, 'Do a?'],
      ['input_received', 'approved', 'Do a?'],
      ['completed', null, null],
    ]);
  });

  it('continues next to a run that waits for a person if its case is done', async () => {
    const { api, queue_id } = await withQueue({ plan: smallPlan(1) });
    const steps = '- if: case.data == "settled"\n  complete_case: ""\n- approve: { id: go, title: "Do {{ case.title }}?" }';
    const agent_id = await scriptedAgent(api, 'Asker', steps);
    await trigger(api, agent_id, queue_id, { concurrency: 1 });
    const [a, b, c, d] = (await add(api, queue_id, [
      { title: 'a' },
      { title: 'b', data: 'settled' },
      { title: 'c', data: 'settled' },
      { title: 'd' },
    ])) as [Case, Case, Case, Case];
    const { claimed_by_run_id: run_id } = await until(api, a.id, 'needs_input');
    // A person completed it manually.
    await api.ok('bulkUpdateCaseStatus', { params: { queue_id }, body: { case_ids: [a.id], status: 'completed' } });
    // Its runs complete it first, and then ask something.
    for (const { id } of [b, c]) await until(api, id, 'completed');
    await until(api, d.id, 'needs_input');
    expect((await api.ok('getRun', { params: { run_id: run_id as string } })).run.status).toBe('waiting');
    const { consumers } = await api.ok('listQueueAgents', { params: { queue_id } });
    expect(consumers).toMatchObject([{ concurrency_limit: 1, at_concurrency_limit: true }]);
  });

  it('continues without a limit of its own when runs that have settled their cases start to wait', async () => {
    const { api, queue_id } = await withQueue({ plan: smallPlan(1) });
    await trigger(api, await scriptedAgent(api, 'Asker', '- complete_case: ""\n- approve: { id: go, title: Go on? }'), queue_id);
    const cases = await add(api, queue_id, [{ title: 'a' }, { title: 'b' }, { title: 'c' }]);
    for (const { id } of cases) await until(api, id, 'completed');
  });

  it('dispatches again for a case that comes due during the dispatch', async () => {
    const clock = new ManualClock();
    const { api, queue_id } = await withQueue({ clock });
    await trigger(api, await scriptedAgent(api, 'Patient', '- postpone_case: { for: 1h }'), queue_id);
    const [row] = (await add(api, queue_id, [{ title: 'a' }])) as [Case];
    const { postponed_to } = await until(api, row.id, 'postponed');
    const dueTime = Date.parse(postponed_to as string);
    await api.service.close();

    await inStore(api.dataDirectory, async (store) => {
      await nudgeJob(store, { kind: jobKinds.dispatchCases, subjectId: queue_id, dueAt: dueTime - 1 });
      const job = await claimJob(store, jobKinds.dispatchCases, { owner: 'me', now: dueTime - 1, lease: 60_000 });
      // Time advances with each read of the clock.
      let time = dueTime - 1;
      const runningClock: Clock = { now: () => time++, sleep: () => Promise.reject(new Error('nobody sleeps here')) };
      await dispatchCasesJob.run(
        { store, clock: runningClock, log: () => undefined, runtimes: new Map() },
        job as ClaimedJob,
        new AbortController().signal,
      );
      const { status, due_at } = await store.selectFrom('jobs').selectAll().where('subject_id', '=', queue_id).executeTakeFirstOrThrow();
      expect([status, Number(due_at)]).toEqual(['queued', dueTime]);
    });
  });

  it('without a limit of its own respects that of the plan, and continues while runs wait', async () => {
    const gate = new Gate();
    let maximum = 0;
    let now = 0;
    const { api, queue_id } = await withQueue({
      plan: smallPlan(2),
      behaviours: {
        work: async (host) => {
          if (host.answer('ask') !== undefined) return { status: 'completed' };
          now += 1;
          maximum = Math.max(maximum, now);
          await gate.opened;
          now -= 1;
          return { status: 'waiting', step: 'ask', request: { type: 'approval', title: 'Go?' } };
        },
      },
    });
    await trigger(api, await api.agent('work'), queue_id);
    const cases = await add(
      api,
      queue_id,
      Array.from({ length: 6 }, (_, index) => ({ title: `c${index}` })),
    );
    while (now < 2) await new Promise((resolve) => setImmediate(resolve));
    const search = async (status: 'pending' | 'claimed') =>
      (await api.ok('searchCases', { params: { queue_id }, body: { filters: { status: [status] } } })).total;
    expect([await search('claimed'), await search('pending')]).toEqual([2, 4]);
    gate.open();
    for (const { id } of cases) await until(api, id, 'needs_input');
    expect(maximum).toBe(2);
    const { consumers } = await api.ok('listQueueAgents', { params: { queue_id } });
    expect(consumers).toMatchObject([{ concurrency_limit: 2, at_concurrency_limit: false }]);
  });

  it('claims each of a thousand cases exactly once, whatever is done to them at the same time', async () => {
    const workCounts = new Map<string, number>();
    const { api, queue_id } = await withQueue({
      behaviours: {
        work: async (host) => {
          const id = host.case?.id as string;
          workCounts.set(id, (workCounts.get(id) ?? 0) + 1);
          return { status: 'completed' };
        },
      },
    });
    for (const name of ['one', 'two', 'three']) await trigger(api, await api.agent('work', name), queue_id);
    const ids: string[] = [];
    const addBatch = async (batch: number) => {
      const cases = await add(
        api,
        queue_id,
        Array.from({ length: 100 }, (_, index) => ({
          title: `case ${batch}.${index}`,
          priority: (['none', 'medium', 'high'] as const)[index % 3] ?? 'none',
        })),
      );
      ids.push(...cases.map(({ id }) => id));
      // Dispatching over and over again must not start anything twice.
      await api.ok('bulkUpdateCasePriority', {
        params: { queue_id },
        body: { all_matching: true, filters: { status: ['pending'] }, priority: 'medium' },
      });
    };
    await Promise.all(Array.from({ length: 10 }, (_, batch) => addBatch(batch)));
    const open = async () =>
      (await api.ok('searchCases', { params: { queue_id }, body: { filters: { status: ['pending', 'claimed'] }, limit: 1 } })).total;
    while ((await open()) > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(workCounts.size).toBe(1_000);
    expect([...workCounts.values()].filter((times) => times !== 1)).toEqual([]);
    expect([...workCounts.keys()].sort()).toEqual([...ids].sort());
    expect((await api.ok('listRuns', { query: { case_queue_id: queue_id, count_only: 'true' } })).total).toBe(1_000);
    expect((await api.ok('searchCases', { params: { queue_id }, body: { filters: { status: ['completed'] }, limit: 1 } })).total).toBe(
      1_000,
    );
  });

  it('waits for an agent that cannot run, and continues when it can', async () => {
    const { api, queue_id } = await withQueue();
    const { agent } = await api.ok('createAgent', { body: { name: 'Empty' } });
    await trigger(api, agent.id, queue_id);
    const [row] = (await add(api, queue_id, [{ title: 'a' }])) as [Case];
    expect((await read(api, row.id)).case.display_status).toBe('pending');
    const { build } = await api.ok('createRevision', {
      params: { agent_id: agent.id },
      body: { name: 'x', config: config('done') as RevisionConfig },
    });
    await api.ok('promoteRevision', { params: { build_id: build.id }, body: {} });
    await until(api, row.id, 'completed');
  });
});

describe('the end of a run', () => {
  it('completes its case, or fails it with the reason', async () => {
    const { api, queue_id } = await withQueue();
    await trigger(api, await scriptedAgent(api, 'Picky', '- if: case.title == "bad"\n  fail: "I cannot do {{ case.title }}"'), queue_id);
    const [goodCase, badCase] = (await add(api, queue_id, [{ title: 'good' }, { title: 'bad' }])) as [Case, Case];
    await until(api, goodCase.id, 'completed');
    expect(await until(api, badCase.id, 'failed')).toMatchObject({ status: 'failed', completed_at: null, agent_run_status: 'failed' });
    expect((await read(api, badCase.id)).events.at(-1)).toMatchObject({ type: 'failed', reason: 'I cannot do bad' });
    // A retried case gets another run.
    await api.ok('bulkReprocessCases', { params: { queue_id }, body: { case_ids: [badCase.id] } });
    for (;;) if ((await api.ok('listCaseRuns', { params: { case_id: badCase.id } })).runs.length === 2) break;
    await until(api, badCase.id, 'failed');
    expect(await history(api, badCase.id)).toEqual(['created', 'claimed', 'failed', 'reopened', 'claimed', 'failed']);
  });

  it('leaves a case unchanged that the run has settled', async () => {
    const { api, queue_id } = await withQueue();
    await trigger(api, await scriptedAgent(api, 'Odd', '- fail_case: wrong vendor\n- say: but I am well'), queue_id);
    const [row] = (await add(api, queue_id, [{ title: 'a' }])) as [Case];
    const failedCase = await until(api, row.id, 'failed');
    await api.until(failedCase.claimed_by_run_id as string, 'completed');
    expect((await read(api, row.id)).case.status).toBe('failed');
    expect((await read(api, row.id)).events.at(-1)).toMatchObject({ type: 'failed', reason: 'wrong vendor' });
  });

  it('by a stop fails the case, until a message continues the run', async () => {
    const { api, queue_id } = await withQueue();
    await trigger(api, await scriptedAgent(api, 'Slow', '- if: messages.size == 1\n  sleep: 1h\n- complete_case: after all'), queue_id);
    const [row] = (await add(api, queue_id, [{ title: 'a' }])) as [Case];
    const { claimed_by_run_id: run_id } = await until(api, row.id, 'in_progress');
    await api.until(run_id as string, 'running');
    await api.ok('stopRun', { params: { run_id: run_id as string } });
    expect((await read(api, row.id)).case).toMatchObject({ status: 'failed', claimed_by_run_id: run_id });
    expect((await read(api, row.id)).events.at(-1)).toMatchObject({ type: 'failed', reason: 'The run was stopped.' });
    await api.ok('postRunMessage', { params: { run_id: run_id as string }, body: { message: 'go on' } });
    expect((await read(api, row.id)).case.display_status).toBe('in_progress');
  });

  it('cannot settle a case that no longer belongs to it', async () => {
    const gate = new Gate();
    const errors: string[] = [];
    const { api, queue_id } = await withQueue({
      behaviours: {
        work: async (host) => {
          if (host.answer('ask') === undefined) return { status: 'waiting', step: 'ask', request: { type: 'approval', title: 'Go?' } };
          await gate.opened;
          await host.act('x', { do: 'complete' }).catch((error: { error: string }) => errors.push(error.error));
          return { status: 'completed' };
        },
      },
    });
    const agent_id = await api.agent('work');
    const { id } = await trigger(api, agent_id, queue_id);
    const [reopened, deletedCase] = (await add(api, queue_id, [{ title: 'a' }, { title: 'b' }])) as [Case, Case];
    const runs: string[] = [];
    for (const row of [reopened, deletedCase]) runs.push((await until(api, row.id, 'needs_input')).claimed_by_run_id as string);
    await api.ok('updateAgentCaseTrigger', { params: { agent_id, trigger_id: id }, body: { enabled: false } });
    // Runs that wait for a person are not interrupted: their requests can still be answered.
    const status = await api.ok('bulkUpdateCaseStatus', { params: { queue_id }, body: { case_ids: [reopened.id], status: 'pending' } });
    expect(status).toEqual({ updatedCount: 1, skippedCount: 0, interruptedRunIds: [] });
    expect(await api.ok('deleteCase', { params: { case_id: deletedCase.id } })).toEqual({ success: true, interruptedRunIds: [] });
    for (const run_id of runs) {
      const { pending_human_request } = await api.ok('getRun', { params: { run_id } });
      await api.ok('respondToHumanRequest', {
        params: { run_id, request_id: pending_human_request?.id as string },
        body: { approved: true },
      });
    }
    gate.open();
    for (const run_id of runs) await api.until(run_id, 'completed');
    expect(errors).toEqual(['case_lost', 'case_lost']);
    expect((await read(api, reopened.id)).case.display_status).toBe('pending');
    const run = await api.run('work');
    const { pending_human_request } = await api.until(run.id, 'waiting');
    await api.ok('respondToHumanRequest', {
      params: { run_id: run.id, request_id: pending_human_request?.id as string },
      body: { approved: true },
    });
    await api.until(run.id, 'completed');
    expect(errors.at(-1)).toBe('run_has_no_case');
  });
});

describe('taking cases away from runs', () => {
  it('by re-opening, deleting, and clearing interrupts them', async () => {
    const { api, queue_id } = await withQueue();
    const agent_id = await scriptedAgent(api, 'Slow', '- sleep: 1h');
    const { id } = await trigger(api, agent_id, queue_id);
    const cases = await add(api, queue_id, [{ title: 'a' }, { title: 'b' }, { title: 'c' }, { title: 'd' }]);
    const runs: string[] = [];
    for (const row of cases) runs.push((await until(api, row.id, 'in_progress')).claimed_by_run_id as string);
    for (const run of runs) await api.until(run, 'running');
    const [a, b, c] = cases as [Case, Case, Case];
    // None of these affects work in progress.
    expect(await api.ok('bulkReprocessCases', { params: { queue_id }, body: { case_ids: [a.id] } })).toMatchObject({
      reprocessedCount: 0,
      skippedCount: 1,
    });
    await api.ok('bulkUpdateCasePriority', { params: { queue_id }, body: { case_ids: [a.id], priority: 'high' } });
    await api.ok('updateAgentCaseTrigger', { params: { agent_id, trigger_id: id }, body: { enabled: false } });
    expect((await api.ok('getRun', { params: { run_id: runs[0] as string } })).run.status).toBe('running');

    const reopenResult = await api.ok('bulkUpdateCaseStatus', { params: { queue_id }, body: { case_ids: [a.id], status: 'pending' } });
    expect(reopenResult).toEqual({ updatedCount: 1, skippedCount: 0, interruptedRunIds: [runs[0]] });
    expect((await read(api, a.id)).case).toMatchObject({ display_status: 'pending', claimed_by_run_id: null, claimed_at: null });
    expect(await api.ok('deleteCase', { params: { case_id: b.id } })).toEqual({ success: true, interruptedRunIds: [runs[1]] });
    expect(await api.ok('bulkDeleteCases', { params: { queue_id }, body: { case_ids: [c.id] } })).toEqual({
      deletedCount: 1,
      interruptedRunIds: [runs[2]],
    });
    expect(await api.ok('clearQueueCases', { params: { queue_id } })).toEqual({
      success: true,
      deletedCount: 2,
      interruptedRunIds: [runs[3]],
    });
    for (const run of runs) expect((await api.ok('getRun', { params: { run_id: run } })).run.status).toBe('interrupted');
    // Its run is listed without the case.
    expect((await api.ok('listRuns')).data[0]).toMatchObject({ case_queue_item_id: null, case_title: null });
  });

  it('by reprocessing a settled case interrupts a run that continues after it', async () => {
    const endedIds: string[] = [];
    const { api, queue_id } = await withQueue({
      behaviours: {
        work: async (host) => {
          await host.act('x', { do: 'complete' });
          await new Promise((resolve) => host.signal.addEventListener('abort', resolve));
          endedIds.push(host.case?.title ?? '');
          throw host.signal.reason;
        },
      },
    });
    const agent_id = await api.agent('work');
    const otherAgent = await api.agent('done', 'Other');
    const { id } = await trigger(api, agent_id, queue_id);
    const cases = (await add(api, queue_id, [{ title: 'again' }, { title: 'given' }])) as [Case, Case];
    const runs: string[] = [];
    for (const row of cases) runs.push((await until(api, row.id, 'completed')).claimed_by_run_id as string);
    await api.ok('updateAgentCaseTrigger', { params: { agent_id, trigger_id: id }, body: { enabled: false } });
    const [repeatedCase, otherCase] = cases;
    const reprocess = (row: Case, target: { agent_id?: string }) =>
      api.ok('bulkReprocessCases', { params: { queue_id }, body: { case_ids: [row.id], ...target } });
    expect(await reprocess(repeatedCase, {})).toMatchObject({ reprocessedCount: 1, retriedCount: 1 });
    expect(await reprocess(otherCase, { agent_id: otherAgent })).toMatchObject({ reprocessedCount: 1, delegatedCount: 1 });
    for (const run of runs) expect((await api.ok('getRun', { params: { run_id: run } })).run.status).toBe('interrupted');
    expect(await until(api, repeatedCase.id, 'pending')).toMatchObject({ claimed_by_run_id: null });
    await until(api, otherCase.id, 'completed');
    expect(await history(api, otherCase.id)).toEqual(['created', 'claimed', 'completed', 'delegated', 'claimed', 'completed']);
    await eventually('both are ended', () => endedIds.length === 2);
    expect(endedIds.toSorted()).toEqual(['again', 'given']);
  });

  it('by a person who completes them does not interrupt them', async () => {
    const gate = new Gate();
    const { api, queue_id } = await withQueue({
      behaviours: { work: () => gate.opened.then(() => ({ status: 'failed', error: 'too late' })) },
    });
    await trigger(api, await api.agent('work'), queue_id);
    const [row] = (await add(api, queue_id, [{ title: 'a' }])) as [Case];
    const { claimed_by_run_id: run_id } = await until(api, row.id, 'in_progress');
    const statusUpdate = await api.ok('bulkUpdateCaseStatus', { params: { queue_id }, body: { case_ids: [row.id], status: 'completed' } });
    expect(statusUpdate).toEqual({ updatedCount: 1, skippedCount: 0, interruptedRunIds: [] });
    gate.open();
    await api.until(run_id as string, 'failed');
    expect((await read(api, row.id)).case.status).toBe('completed');
  });

  it('by deleting the agent returns them to the queue', async () => {
    const { api, queue_id } = await withQueue();
    const agent_id = await scriptedAgent(api, 'Slow', '- sleep: 1h');
    await trigger(api, agent_id, queue_id);
    const [firstCase, handedOverCase] = (await add(api, queue_id, [{ title: 'a' }])) as [Case, Case?];
    expect(handedOverCase).toBeUndefined();
    await until(api, firstCase.id, 'in_progress');
    await api.ok('deleteAgent', { params: { agent_id } });
    expect((await read(api, firstCase.id)).case).toMatchObject({ display_status: 'pending', claimed_by_run_id: null });
    expect((await read(api, firstCase.id)).events.at(-1)).toMatchObject({ type: 'released', reason: 'The agent was deleted.' });
    // Without a trigger, the queue can be deleted, and another agent can take the case.
    await trigger(api, await api.agent('done', 'Next'), queue_id);
    await until(api, firstCase.id, 'completed');
  });
});

describe('delegating and handing over', () => {
  it('gives cases to an agent without a trigger, and only to that one', async () => {
    const { api, queue_id } = await withQueue();
    const cases = await add(api, queue_id, [{ title: 'a' }, { title: 'b' }, { title: 'c' }]);
    const [a, b, c] = cases as [Case, Case, Case];
    const second = await api.agent('done', 'Second');
    const delegation = await api.ok('bulkReprocessCases', {
      params: { queue_id },
      body: { case_ids: [a.id, b.id, unknownId], agent_id: second },
    });
    expect(delegation).toEqual({ reprocessedCount: 2, skippedCount: 1, delegatedCount: 2 });
    for (const row of [a, b]) await until(api, row.id, 'completed');
    expect((await read(api, c.id)).case.display_status).toBe('pending');
    const { runs } = await api.ok('listCaseRuns', { params: { case_id: a.id } });
    expect(runs).toMatchObject([{ agent_name: 'Second', source: 'case_delegation' }]);
    expect(await history(api, a.id)).toEqual(['created', 'delegated', 'claimed', 'completed']);
  });

  it('adds cases to other queues by name, also for one particular agent', async () => {
    const { api, queue_id } = await withQueue();
    const { queue: checks } = await api.ok('createQueue', { body: { name: 'Checks' } });
    const auditor = await api.agent('done', 'Auditor');
    const producer = await scriptedAgent(
      api,
      'Producer',
      '- create_case: { id: c, queue: Checks, title: "Check {{ case.title }}", agent: Auditor }\n- say: "{{ steps.c.id }}"',
    );
    await trigger(api, producer, queue_id);
    const [refusedCase] = (await add(api, queue_id, [{ title: 'a' }])) as [Case];
    await until(api, refusedCase.id, 'failed');
    expect((await read(api, refusedCase.id)).events.at(-1)?.reason).toBe(
      'Step 1 (create_case, line 3): The agent Auditor is not a handover target of this revision.',
    );
    const { agent } = await api.ok('getAgent', { params: { agent_id: producer } });
    const { builds } = await api.ok('listAgentRevisions', { params: { agent_id: agent.id } });
    await api.ok('updateRevision', { params: { build_id: builds[0]?.id as string }, body: { handoverTargetIds: [auditor] } });
    const [row] = (await add(api, queue_id, [{ title: 'b' }])) as [Case];
    await until(api, row.id, 'completed');
    const { cases } = await api.ok('listCases', { params: { queue_id: checks.id } });
    expect(cases).toMatchObject([{ title: 'Check b', priority: 'none' }]);
    const check = cases[0] as Case;
    await until(api, check.id, 'completed');
    expect((await read(api, check.id)).events[0]).toMatchObject({ type: 'created', agent_name: 'Producer' });
    expect((await api.ok('listCaseRuns', { params: { case_id: check.id } })).runs).toMatchObject([{ agent_name: 'Auditor' }]);

    // A revision that starts as a copy has the same targets: they are not visible, so nobody could enter them again.
    const next = await api.ok('createRevision', { params: { agent_id: producer }, body: { name: 'next' } });
    await api.ok('promoteRevision', { params: { build_id: next.build.id } });
    const [again] = (await add(api, queue_id, [{ title: 'c' }])) as [Case];
    await until(api, again.id, 'completed');

    expect(await api.ok('listQueueAgents', { params: { queue_id: checks.id } })).toEqual({
      queue_name: 'Checks',
      producers: [
        { agent_id: producer, agent_name: 'Producer', case_trigger_enabled: true, case_trigger_queue_name: 'Invoices', problems: [] },
      ],
      consumers: [
        {
          agent_id: auditor,
          agent_name: 'Auditor',
          case_trigger_enabled: false,
          is_handover_target: true,
          problems: [],
          concurrency_limit: 8,
          at_concurrency_limit: false,
        },
      ],
    });
    const emptyRevision = await api.ok('createRevision', {
      params: { agent_id: producer },
      body: { name: 'none', handover_target_ids: [] },
    });
    await api.ok('promoteRevision', { params: { build_id: emptyRevision.build.id } });
    const targets = async (): Promise<string[]> =>
      (await api.ok('listQueueAgents', { params: { queue_id: checks.id } })).consumers.map(({ agent_name }) => agent_name);
    expect(await targets()).toEqual([]);
    await api.ok('createAgent', { body: { name: 'Another producer', source_build_id: next.build.id } });
    expect(await targets()).toEqual(['Auditor']);
  });

  it('cannot add a case whose title is too long', async () => {
    const { api, queue_id } = await withQueue();
    await api.ok('createQueue', { body: { name: 'Checks' } });
    const producer = await scriptedAgent(api, 'Producer', '- create_case: { queue: Checks, title: "{{ case.title }}{{ case.title }}" }');
    await trigger(api, producer, queue_id);
    const rows = await add(api, queue_id, [{ title: 'a'.repeat(250) }, { title: 'b'.repeat(251) }]);
    expect((await until(api, (rows[0] as Case).id, 'completed', 'failed')).display_status).toBe('completed');
    await until(api, (rows[1] as Case).id, 'failed');
    expect((await read(api, (rows[1] as Case).id)).events.at(-1)?.reason).toContain('must have 1 to 500 characters, not 502');
  });

  it('lists the agents that those with a trigger may hand a case to', async () => {
    const { api, queue_id } = await withQueue();
    const [worker, target] = [await api.agent('done', 'Worker'), await api.agent('done', 'Target')];
    const { agent } = await api.ok('getAgent', { params: { agent_id: worker } });
    const { builds } = await api.ok('listAgentRevisions', { params: { agent_id: agent.id } });
    await api.ok('updateRevision', { params: { build_id: builds[0]?.id as string }, body: { handoverTargetIds: [target] } });
    await trigger(api, worker, queue_id, { enabled: false });
    const { consumers } = await api.ok('listQueueAgents', { params: { queue_id } });
    expect(consumers.map(({ agent_name, is_handover_target }) => [agent_name, is_handover_target])).toEqual([
      ['Target', true],
      ['Worker', false],
    ]);
  });

  it('reports which agents conflict with each other', async () => {
    const { api, queue_id } = await withQueue();
    const { queue: idle } = await api.ok('createQueue', { body: { name: 'Idle' } });
    const loop = await scriptedAgent(api, 'Loop', '- create_case: { queue: Invoices, title: again }');
    const otherAgent = await api.agent('done', 'Other');
    const { id } = await trigger(api, loop, queue_id, { enabled: false });
    await trigger(api, otherAgent, queue_id);
    const firstList = await api.ok('listQueueAgents', { params: { queue_id } });
    expect(firstList.producers).toMatchObject([{ agent_name: 'Loop', problems: ['producer_consumer_mix'] }]);
    expect(firstList.consumers.map(({ agent_name, problems }) => [agent_name, problems])).toEqual([
      ['Loop', ['producer_consumer_mix']],
      ['Other', []],
    ]);
    await api.ok('updateAgentCaseTrigger', { params: { agent_id: loop, trigger_id: id }, body: { enabled: true } });
    const secondList = await api.ok('listQueueAgents', { params: { queue_id } });
    expect(secondList.consumers.map(({ problems }) => problems)).toEqual([
      ['multiple_triggers', 'producer_consumer_mix'],
      ['multiple_triggers'],
    ]);
    const thirdAgent = await api.agent('done', 'Third');
    await trigger(api, thirdAgent, queue_id, { enabled: false });
    const thirdList = await api.ok('listQueueAgents', { params: { queue_id } });
    expect(thirdList.consumers.find(({ agent_name }) => agent_name === 'Third')?.problems).toEqual([]);
    expect(await api.ok('listQueueAgents', { params: { queue_id: idle.id } })).toEqual({
      queue_name: 'Idle',
      producers: [],
      consumers: [],
    });
  });
});

describe('a restart', () => {
  it('continues with the cases, each once', async () => {
    const workedCases: string[] = [];
    const gate = new Gate();
    let isStuck = true;
    const behaviours: TestOptions['behaviours'] = {
      work: async (host) => {
        if (isStuck)
          await Promise.race([
            gate.opened,
            new Promise((_, reject) => host.signal.addEventListener('abort', () => reject(host.signal.reason))),
          ]);
        workedCases.push(host.case?.title ?? '');
        return { status: 'completed' };
      },
    };
    const { api, queue_id } = await withQueue({ behaviours });
    await trigger(api, await api.agent('work'), queue_id, { concurrency: 1 });
    const cases = await add(api, queue_id, [{ title: 'a' }, { title: 'b' }, { title: 'c' }]);
    await until(api, (cases[0] as Case).id, 'in_progress');
    await api.service.close();
    isStuck = false;
    const runtimes = [testRuntime({ done: async () => ({ status: 'completed' }), ...behaviours })];
    const restartedApi = await service({ dataDirectory: api.dataDirectory, runtimes });
    for (const { id } of cases) await until(restartedApi, id, 'completed');
    expect(workedCases).toEqual(['a', 'b', 'c']);
    for (const { id } of cases) expect((await restartedApi.ok('listCaseRuns', { params: { case_id: id } })).runs).toHaveLength(1);
  });
});
