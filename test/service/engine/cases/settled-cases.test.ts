/** Cases whose runs have settled them, wait for a person, or are stopped: which of them continue, and when the next case starts. */
import { describe, expect, it } from 'vitest';
import type { Case } from '../../../../src/interface/types.ts';
import { defaultPlan } from '../../../../src/service/store/access/plan.ts';
import { ManualClock, within } from '../../helpers/clock.ts';
import { type Behaviour, Gate } from '../../helpers/runtime.ts';
import { type Api, startApi, type TestOptions } from '../../helpers/service.ts';

/** A queue of cases, and an agent that works on them, one at a time unless `concurrency` is null. */
async function queueWith(
  work: Behaviour,
  titles: string[],
  { concurrency = 1, ...options }: TestOptions & { concurrency?: 1 | null } = {},
) {
  const clock = new ManualClock();
  const api = await startApi({ clock, behaviours: { work }, rateLimit: { limit: 1_000_000, windowSeconds: 60 }, ...options });
  const { queue } = await api.ok('createQueue', { body: { name: 'Invoices' } });
  const agent_id = await api.agent('work');
  const body = { case_queue_id: queue.id, enabled: true, concurrency };
  const { case_trigger } = await api.ok('createAgentCaseTrigger', { params: { agent_id }, body });
  const cases: Case[] = [];
  // One after the other, so that the first is taken first.
  for (const title of titles) {
    cases.push(...(await api.ok('createCases', { params: { queue_id: queue.id }, body: { case: { title } } })).added_cases);
    clock.advance(1);
  }
  return { api, clock, agent_id, trigger_id: case_trigger.id, queue_id: queue.id, cases: cases as [Case, Case] };
}

const read = async (api: Api, { id }: Case) => (await api.ok('getCase', { params: { case_id: id } })).case;
const history = async (api: Api, { id }: Case) => (await api.ok('getCase', { params: { case_id: id } })).events.map(({ type }) => type);

async function until(api: Api, row: Case, status: Case['display_status']): Promise<Case & { claimed_by_run_id: string }> {
  for (;;) {
    const now = await read(api, row);
    if (now.display_status === status) return now as Case & { claimed_by_run_id: string };
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function approve(api: Api, run_id: string): Promise<void> {
  const { pending_human_request: request } = await api.ok('getRun', { params: { run_id } });
  await api.ok('respondToHumanRequest', { params: { run_id, request_id: request?.id as string }, body: { approved: true } });
}

const askBehaviour: Behaviour = async (host) =>
  host.answer('q') === undefined ? { status: 'waiting', step: 'q', request: { type: 'approval', title: 'Go?' } } : { status: 'completed' };

describe('the next case', () => {
  it('starts when a run ends that had settled its case before', async () => {
    const gate = new Gate();
    const { api, cases } = await queueWith(
      async (host) => {
        await host.act('x', { do: 'complete' });
        if (host.case?.title === 'first') await gate.opened;
        return { status: 'completed' };
      },
      ['first', 'second'],
    );
    const { claimed_by_run_id: run_id } = await until(api, cases[0], 'completed');
    await api.until(run_id, 'running');
    expect((await read(api, cases[1])).display_status).toBe('pending');
    gate.open();
    await until(api, cases[1], 'completed');
  });

  it('starts when a run without a case adds it, although that run goes on', async () => {
    const gate = new Gate();
    const opener: Behaviour = async (host) => {
      await host.act('x', { do: 'create', queue: 'Invoices', draft: { title: 'first', labels: [] } });
      await gate.opened;
      return { status: 'completed' };
    };
    let isStarted = false;
    const work: Behaviour = async () => {
      isStarted = true;
      return { status: 'completed' };
    };
    const { api } = await queueWith(work, [], { behaviours: { opener, work } });
    const { id } = await api.run('opener');
    while (!isStarted) {
      expect((await api.ok('getRun', { params: { run_id: id } })).run.status).not.toBe('completed');
      await new Promise((resolve) => setImmediate(resolve));
    }
    gate.open();
    await api.until(id, 'completed');
  });

  it('starts when a person completes the case of a run that waits', async () => {
    const { api, cases, queue_id } = await queueWith(askBehaviour, ['first', 'second']);
    await until(api, cases[0], 'needs_input');
    expect((await read(api, cases[1])).display_status).toBe('pending');
    await api.ok('bulkUpdateCaseStatus', { params: { queue_id }, body: { case_ids: [cases[0].id], status: 'completed' } });
    await until(api, cases[1], 'needs_input');
  });

  it('starts when a run begins to wait for a person, unless the trigger has a limit', async () => {
    const plan = { ...defaultPlan, maxConcurrentRuns: 1 };
    const { api, cases } = await queueWith(askBehaviour, ['first', 'second'], { plan, concurrency: null });
    for (const row of cases) await until(api, row, 'needs_input');
  });

  it('starts although no run ends, if there are more than a dispatch starts', async () => {
    const plan = { ...defaultPlan, maxConcurrentRuns: 30 };
    const sleepBehaviour: Behaviour = async (host) => ({ status: 'sleeping', until: host.clock.now() + 60_000 });
    const { api, queue_id } = await queueWith(sleepBehaviour, [], { plan, concurrency: null });
    const cases = Array.from({ length: 25 }, (_, index) => ({ title: `Case ${index}` }));
    const { added_cases } = await api.ok('createCases', { params: { queue_id }, body: { cases } });
    for (const row of added_cases) await until(api, row, 'in_progress');
  });

  it('starts when its run is retried after a limit of the plan', async () => {
    const plan = { ...defaultPlan, limits: { ...defaultPlan.limits, agentRuns: 1 } };
    const { api, clock, cases } = await queueWith(async () => ({ status: 'completed' }), ['first', 'second'], { plan, concurrency: null });
    await until(api, cases[0], 'completed');
    expect((await read(api, cases[1])).display_status).toBe('pending');
    clock.advance(62 * 24 * 60 * 60 * 1_000);
    await within(120_000, clock, async () => (await read(api, cases[1])).display_status === 'completed');
  });
});

describe('a case', () => {
  it('that its run has failed stays failed when a message continues the completed run', async () => {
    const { api, cases } = await queueWith(
      async (host) => {
        if (host.userMessages.length < 2) await host.act('x', { do: 'fail', reason: 'no' });
        return { status: 'completed' };
      },
      ['first'],
    );
    const { claimed_by_run_id: run_id } = await until(api, cases[0], 'failed');
    await api.until(run_id, 'completed');
    await api.ok('postRunMessage', { params: { run_id }, body: { message: 'and now?' } });
    expect((await read(api, cases[0])).status).toBe('failed');
    const { run } = await api.ok('getRun', { params: { run_id } });
    expect((await api.until(run.id, 'completed')).id).toBe(run_id);
    expect(await history(api, cases[0])).toEqual(['created', 'claimed', 'failed']);
  });

  it('records that it needs input and has received it, and when', async () => {
    const gate = new Gate();
    const { api, clock, cases } = await queueWith(
      async (host) => {
        if (host.answer('q') !== undefined) await gate.opened;
        return askBehaviour(host);
      },
      ['first'],
    );
    const result = await until(api, cases[0], 'needs_input');
    clock.advance(60_000);
    await approve(api, result.claimed_by_run_id);
    const answeredCase = await read(api, cases[0]);
    expect(Date.parse(answeredCase.updated_at)).toBe(clock.now());
    expect(await history(api, cases[0])).toEqual(['created', 'claimed', 'needs_input', 'input_received']);
    gate.open();
    await until(api, cases[0], 'completed');
  });

  it('that waits for an agent that is deleted can be taken by another one', async () => {
    const plan = { ...defaultPlan, maxConcurrentRuns: 1 };
    const behaviours: Record<string, Behaviour> = {
      work: async () => ({ status: 'completed' }),
      busy: async (host) => ({ status: 'sleeping', until: host.clock.now() + 60_000 }),
    };
    const { api, agent_id, trigger_id, queue_id } = await queueWith(async () => ({ status: 'completed' }), [], {
      ...{ plan, behaviours, concurrency: null },
    });
    const trigger = (enabled: boolean) => api.ok('updateAgentCaseTrigger', { params: { agent_id, trigger_id }, body: { enabled } });
    await trigger(false);
    const busyAgent = await api.agent('busy');
    const drafts = { cases: [{ title: 'first' }, { title: 'second' }] };
    const { added_cases } = await api.ok('createCases', { params: { queue_id }, body: drafts });
    const case_ids = added_cases.map(({ id }) => id);
    await api.ok('bulkReprocessCases', { params: { queue_id }, body: { case_ids, agent_id: busyAgent } });
    const statuses = async () => (await Promise.all(added_cases.map((row) => read(api, row)))).map((row) => row.display_status).sort();
    while ((await statuses()).join() !== 'in_progress,pending') await new Promise((resolve) => setImmediate(resolve));
    await api.ok('deleteAgent', { params: { agent_id: busyAgent } });
    await trigger(true);
    for (const row of added_cases) await until(api, row, 'completed');
  });

  it('that is being worked on is not reprocessed, not even by an agent that is named', async () => {
    const { api, agent_id, cases, queue_id } = await queueWith(askBehaviour, ['first', 'second']);
    const { claimed_by_run_id: run_id } = await until(api, cases[0], 'needs_input');
    const reprocess = (row: Case, target: { agent_id?: string }) =>
      api.ok('bulkReprocessCases', { params: { queue_id }, body: { case_ids: [row.id], ...target } });
    for (const target of [{}, { agent_id }])
      expect(await reprocess(cases[0], target)).toMatchObject({ reprocessedCount: 0, skippedCount: 1 });
    expect(await read(api, cases[0])).toMatchObject({ display_status: 'needs_input', claimed_by_run_id: run_id });
    // One that waits in the line stays where it is.
    expect(await reprocess(cases[1], {})).toMatchObject({ reprocessedCount: 0, skippedCount: 1 });
    expect(await history(api, cases[1])).toEqual(['created']);
    expect(await reprocess(cases[1], { agent_id })).toMatchObject({ reprocessedCount: 1, delegatedCount: 1 });
    expect(await reprocess(cases[1], {})).toMatchObject({ reprocessedCount: 1, retriedCount: 1 });
    expect(await history(api, cases[1])).toEqual(['created', 'delegated', 'reopened']);
  });
});
