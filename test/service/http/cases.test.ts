import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Body, Case } from '../../../src/interface/types.ts';
import { ManualClock } from '../helpers/clock.ts';
import { covers } from '../helpers/coverage.ts';
import type { Api, TestOptions } from '../helpers/service.ts';
import { deliveries, failure, receiver } from '../helpers/webhooks.ts';

const service = covers('cases');

async function withQueue(options?: TestOptions): Promise<{ api: Api; queue_id: string }> {
  const api = await service(options);
  const { queue } = await api.ok('createQueue', { body: { name: 'Invoices' } });
  return { api, queue_id: queue.id };
}

type Drafts = NonNullable<Body<'createCases'>['cases']>;
async function add(api: Api, queue_id: string, cases: Drafts): Promise<Case[]> {
  return (await api.ok('createCases', { params: { queue_id }, body: { cases } })).added_cases;
}
const titles = ({ cases }: { cases: Case[] }): string[] => cases.map(({ title }) => title);
const unknownId = '00000000-0000-4000-8000-000000000001';

describe('a search for cases', () => {
  it('is limited to what databases accept', async () => {
    const { api, queue_id } = await withQueue();
    const search = (length: number) => api.call('listCases', { params: { queue_id }, query: { search: 'x'.repeat(length) } });
    expect((await search(1_000)).status).toBe(200);
    const refusal = await search(1_001);
    expect([failure(refusal), refusal.body]).toMatchObject([
      [400, 'invalid_request'],
      { message: 'search must not be longer than 1000 characters.', details: [{ path: 'search' }] },
    ]);
  });
});

describe('creating cases', () => {
  it('accepts one case or up to a hundred, and creates their labels', async () => {
    const { api, queue_id } = await withQueue();
    const singleBatch = await api.ok('createCases', {
      params: { queue_id },
      body: { case: { title: 'First', data: '{"amount": 3}', priority: 'high' } },
    });
    expect(singleBatch.added_cases).toHaveLength(1);
    expect(singleBatch.added_cases[0]).toMatchObject({
      queue_id,
      title: 'First',
      data: '{"amount": 3}',
      status: 'pending',
      display_status: 'pending',
      priority: 'high',
      claimed_at: null,
      claimed_by_run_id: null,
      completed_at: null,
      postponed_to: null,
      created_by_user_id: null,
      agent_run_status: null,
      pending_human_request_id: null,
      pending_approval_assignee_user_ids: [],
      labels: [],
    });
    const manyCases = await add(
      api,
      queue_id,
      Array.from({ length: 100 }, (_, index) => ({
        title: `Case ${index}`,
        labels: [{ key: 'vendor', value: `v${index % 2}` }, { value: 'new' }],
      })),
    );
    expect(manyCases.map(({ title }) => title)).toEqual(Array.from({ length: 100 }, (_, index) => `Case ${index}`));
    expect(manyCases[1]?.labels.map(({ key, value }) => [key, value])).toEqual([
      ['', 'new'],
      ['vendor', 'v1'],
    ]);
    const { labels } = await api.ok('listQueueLabels', { params: { queue_id } });
    expect(labels.map(({ key, value, case_count }) => [key, value, case_count])).toEqual([
      ['', 'new', 100],
      ['vendor', 'v0', 50],
      ['vendor', 'v1', 50],
    ]);
    for (const { color_hue } of labels) expect(color_hue).toBeLessThanOrEqual(360);
  });

  it('refuses both forms, neither, an empty list, and too many, and then adds nothing', async () => {
    const { api, queue_id } = await withQueue();
    const draft = { title: 'x' };
    for (const body of [
      {},
      { case: draft, cases: [draft] },
      { cases: [] },
      { cases: Array.from({ length: 101 }, () => draft) },
      { case: { title: '' } },
      { case: { title: 'x'.repeat(501) } },
      { case: { title: 'x', priority: 'urgent' } },
      { cases: [draft, { title: 'y', labels: [{ key: 'k' }] }] },
    ])
      expect(failure(await api.call('createCases', { params: { queue_id }, body })), JSON.stringify(body).slice(0, 80)).toEqual([
        400,
        'invalid_request',
      ]);
    expect((await api.ok('listCases', { params: { queue_id } })).total).toBe(0);
    expect(failure(await api.call('createCases', { params: { queue_id: unknownId }, body: { case: draft } }))).toEqual([
      404,
      'queue_not_found',
    ]);
  });

  it('sends a webhook for each', async () => {
    const { api, queue_id } = await withQueue();
    const hook = await receiver();
    await api.ok('createTeamWebhook', { body: { url: hook.url, events: ['queue.case.created', 'queue.case.completed'] } });
    const [first] = await add(api, queue_id, [{ title: 'a', labels: [{ key: 'k', value: 'v' }] }, { title: 'b' }]);
    await api.ok('bulkUpdateCaseStatus', { params: { queue_id }, body: { case_ids: [first?.id as string], status: 'completed' } });
    const result = await deliveries(api);
    expect(result.map(({ event }) => event).sort()).toEqual(['queue.case.completed', 'queue.case.created', 'queue.case.created']);
    const details = await Promise.all(
      result.map(
        async ({ id }) =>
          (await api.ok('getWebhookDelivery', { params: { deliveryId: id } })).delivery.payload.data as { case: Case; queue: object },
      ),
    );
    const completedCase = details.find(({ case: { status } }) => status === 'completed');
    expect(completedCase).toMatchObject({
      queue: { id: queue_id, name: 'Invoices' },
      case: { id: first?.id, labels: [{ key: 'k', value: 'v' }] },
    });
  });
});

describe('lists and searches', () => {
  async function filledQueue() {
    const clock = new ManualClock();
    const { api, queue_id } = await withQueue({ clock });
    const drafts: Drafts = [
      {
        title: 'Acme March',
        data: 'vendor: Acme, amount 100%',
        priority: 'high',
        labels: [{ key: 'vendor', value: 'acme' }, { value: 'new' }],
      },
      { title: 'Acme April', data: '{"note":"second reminder for ACME GmbH"}', labels: [{ key: 'vendor', value: 'acme' }] },
      { title: 'Zeta', data: `${'x'.repeat(100)}needle${'y'.repeat(100)}`, priority: 'medium', labels: [{ key: 'vendor', value: 'zeta' }] },
      { title: 'Öl', data: '' },
    ];
    const cases: Case[] = [];
    for (const draft of drafts) {
      cases.push(...(await add(api, queue_id, [draft])));
      clock.advance(1_000);
    }
    return { api, queue_id, clock, cases };
  }

  it('are sorted and paged, the newest first by default', async () => {
    const { api, queue_id } = await filledQueue();
    const list = async (query: object) => titles(await api.ok('listCases', { params: { queue_id }, query: query as never }));
    expect(await list({})).toEqual(['Öl', 'Zeta', 'Acme April', 'Acme March']);
    expect(await list({ sort_order: 'asc', limit: 2, offset: 1 })).toEqual(['Acme April', 'Zeta']);
    expect(await api.ok('listCases', { params: { queue_id }, query: { limit: 1 } })).toMatchObject({ total: 4, limit: 1, offset: 0 });
    expect(await list({ priority: 'high,medium', sort_order: 'asc' })).toEqual(['Acme March', 'Zeta']);
    expect(await list({ priority: 'none' })).toEqual(['Öl', 'Acme April']);
    expect(await list({ status: 'completed' })).toEqual([]);
    expect(await list({ status: 'pending,completed' })).toHaveLength(4);
    expect(await list({ search: 'öL' })).toEqual(['Öl']);
    expect(await list({ created_at_from: '2026-07-18T11:00:02+02:00' })).toEqual(['Öl', 'Zeta']);
    expect(await list({ sort_by: 'postponed_to' })).toHaveLength(4);
    for (const query of [{ status: 'nope' }, { priority: 'low' }, { sort_by: 'title' }, { limit: 101 }, { created_at_from: 'today' }])
      expect(failure(await api.call('listCases', { params: { queue_id }, query: query as never })), JSON.stringify(query)).toEqual([
        400,
        'invalid_request',
      ]);
  });

  it('search title and data literally, and show where the data matched', async () => {
    const { api, queue_id, cases } = await filledQueue();
    const search = (body: Body<'searchCases'>) => api.ok('searchCases', { params: { queue_id }, body });
    const searchResult = await search({ search: 'acme gmbh' });
    expect(searchResult).toMatchObject({ total: 1, limit: 25, offset: 0 });
    expect(searchResult.cases[0]?.search_match_data_snippet).toEqual({
      before: '{"note":"second reminder for ',
      match: 'ACME GmbH',
      after: '"}',
    });
    const needle = (await search({ search: 'needle' })).cases[0]?.search_match_data_snippet;
    expect(needle).toEqual({ before: 'x'.repeat(40), match: 'needle', after: 'y'.repeat(40) });
    // The text must not contain half of a surrogate pair, which would be invalid Unicode.
    await api.ok('createCases', {
      params: { queue_id },
      body: { case: { title: 'faces', data: `${'😀'.repeat(30)}-thread-${'😀'.repeat(30)}` } },
    });
    const thread = (await search({ search: 'thread' })).cases[0]?.search_match_data_snippet;
    expect(thread).toEqual({ before: `${'😀'.repeat(19)}-`, match: 'thread', after: `-${'😀'.repeat(19)}` });
    await api.ok('bulkDeleteCases', { params: { queue_id }, body: { all_matching: true, search: 'thread' } });
    expect(titles(await search({ search: '%' }))).toEqual(['Acme March']);
    expect(titles(await search({ search: '_' }))).toEqual([]);
    const byTitle = await search({ search: 'zeta' });
    expect(byTitle.cases[0]).not.toHaveProperty('search_match_data_snippet');
    expect(titles(await search({ search: (cases[3] as Case).id.slice(-8) }))).toEqual(['Öl']);
    expect(titles(await search({ search: '  ' }))).toHaveLength(4);
  });

  it('filter by labels: any of the values for each of the keys', async () => {
    const { api, queue_id } = await filledQueue();
    const searchBy = async (labels: Record<string, string | string[]>) =>
      titles(await api.ok('searchCases', { params: { queue_id }, body: { filters: { labels }, sort_order: 'asc' } }));
    expect(await searchBy({ vendor: 'acme' })).toEqual(['Acme March', 'Acme April']);
    expect(await searchBy({ vendor: ['acme', 'zeta'] })).toEqual(['Acme March', 'Acme April', 'Zeta']);
    expect(await searchBy({ vendor: 'acme', '': 'new' })).toEqual(['Acme March']);
    expect(await searchBy({ vendor: 'nobody' })).toEqual([]);
    expect(await searchBy({})).toHaveLength(4);
  });

  it('filter by status, priority, and times at the same time', async () => {
    const { api, queue_id, clock, cases } = await filledQueue();
    const searchBy = async (filters: NonNullable<Body<'searchCases'>['filters']>) =>
      titles(await api.ok('searchCases', { params: { queue_id }, body: { filters, sort_order: 'asc' } }));
    await api.ok('bulkUpdateCaseStatus', { params: { queue_id }, body: { case_ids: [(cases[0] as Case).id], status: 'failed' } });
    expect(await searchBy({ status: ['failed'] })).toEqual(['Acme March']);
    expect(await searchBy({ status: ['failed', 'pending'], priority: ['high', 'medium'] })).toEqual(['Acme March', 'Zeta']);
    expect(await searchBy({ updated_at_from: new Date(clock.now()).toISOString() })).toEqual(['Acme March']);
    expect(await searchBy({ status: [] })).toEqual([]);
    expect(await searchBy({ priority: [] })).toEqual([]);
    for (const status of ['claimed', 'needs_input', 'postponed', 'completed'] as const)
      expect(await searchBy({ status: [status] })).toEqual([]);
    expect(failure(await api.call('searchCases', { params: { queue_id }, body: { filters: { status: ['open'] } } }))).toEqual([
      400,
      'invalid_request',
    ]);
    expect(failure(await api.call('searchCases', { params: { queue_id: unknownId }, body: {} }))).toEqual([404, 'queue_not_found']);
    expect((await api.call('searchCases', { params: { queue_id } })).status).toBe(200);
  });
});

describe('a case', () => {
  it('is read with its events, and deleted', async () => {
    const { api, queue_id } = await withQueue();
    const [row] = (await add(api, queue_id, [{ title: 'a' }])) as [Case];
    await api.ok('bulkUpdateCasePriority', { params: { queue_id }, body: { case_ids: [row.id], priority: 'high' } });
    await api.ok('bulkUpdateCaseStatus', { params: { queue_id }, body: { case_ids: [row.id], status: 'completed' } });
    await api.ok('bulkUpdateCaseStatus', { params: { queue_id }, body: { case_ids: [row.id], status: 'pending' } });
    const caseDetail = await api.ok('getCase', { params: { case_id: row.id } });
    expect(caseDetail.case).toMatchObject({ id: row.id, priority: 'high', status: 'pending', completed_at: null });
    expect(caseDetail.events.map(({ type, reason }) => [type, reason])).toEqual([
      ['created', null],
      ['priority_changed', 'high'],
      ['completed', 'Set by a person.'],
      ['reopened', null],
    ]);
    expect(caseDetail.approvalBatches).toEqual([]);
    expect(await api.ok('listCaseRuns', { params: { case_id: row.id } })).toEqual({ runs: [] });
    expect(await api.ok('deleteCase', { params: { case_id: row.id } })).toEqual({ success: true, interruptedRunIds: [] });
    expect(failure(await api.call('getCase', { params: { case_id: row.id } }))).toEqual([404, 'case_not_found']);
  });

  it('is only visible to its team', async () => {
    const { api, queue_id } = await withQueue();
    const [row] = (await add(api, queue_id, [{ title: 'a' }])) as [Case];
    const otherApi = await api.inNewTeam();
    const run = await api.run();
    for (const [caller, case_id] of [
      [api, unknownId],
      [otherApi, row.id],
    ] as const) {
      expect(failure(await caller.call('getCase', { params: { case_id } }))).toEqual([404, 'case_not_found']);
      expect(failure(await caller.call('deleteCase', { params: { case_id } }))).toEqual([404, 'case_not_found']);
      expect(failure(await caller.call('listCaseRuns', { params: { case_id } }))).toEqual([404, 'case_not_found']);
      expect(failure(await caller.call('listCaseRunRecentMessages', { params: { case_id, run_id: run.id } }))).toEqual([
        404,
        'case_not_found',
      ]);
    }
    // A run that is unrelated to the case.
    expect(failure(await api.call('listCaseRunRecentMessages', { params: { case_id: row.id, run_id: run.id } }))).toEqual([
      404,
      'run_not_found',
    ]);
    for (const id of ['listCases', 'clearQueueCases', 'listQueueLabels'] as const) {
      expect(failure(await otherApi.call(id, { params: { queue_id } }))).toEqual([404, 'queue_not_found']);
    }
  });
});

describe('bulk actions', () => {
  it('apply to cases by ID or to all that match, and count those that they skip', async () => {
    const { api, queue_id } = await withQueue();
    const cases = await add(api, queue_id, [{ title: 'a1' }, { title: 'a2', priority: 'high' }, { title: 'b' }]);
    const ids = cases.map(({ id }) => id);
    const params = { queue_id };
    expect(
      await api.ok('bulkUpdateCasePriority', { params, body: { case_ids: [...ids, ids[0] as string, unknownId], priority: 'high' } }),
    ).toEqual({
      updatedCount: 2,
      skippedCount: 2,
    });
    expect(await api.ok('bulkUpdateCaseStatus', { params, body: { all_matching: true, search: 'a', status: 'failed' } })).toEqual({
      updatedCount: 2,
      skippedCount: 0,
      interruptedRunIds: [],
    });
    const failedCases = await api.ok('listCases', { params, query: { status: 'failed' } });
    expect(failedCases.cases.map(({ completed_at }) => completed_at)).toEqual([null, null]);
    expect(await api.ok('bulkReprocessCases', { params, body: { all_matching: true } })).toEqual({
      reprocessedCount: 2,
      skippedCount: 1,
      retriedCount: 2,
    });
    expect(await api.ok('bulkUpdateCaseStatus', { params, body: { case_ids: ids, status: 'pending' } })).toMatchObject({
      updatedCount: 0,
      skippedCount: 3,
    });
    expect(await api.ok('bulkDeleteCases', { params, body: { all_matching: true, filters: { priority: ['high'] }, search: 'a' } })).toEqual(
      {
        deletedCount: 2,
        interruptedRunIds: [],
      },
    );
    expect(await api.ok('bulkDeleteCases', { params, body: { case_ids: [ids[0] as string, unknownId] } })).toMatchObject({
      deletedCount: 0,
    });
    expect(titles(await api.ok('listCases', { params }))).toEqual(['b']);
    expect(await api.ok('clearQueueCases', { params })).toEqual({ success: true, deletedCount: 1, interruptedRunIds: [] });
  });

  it('accept 1 to 100 IDs', async () => {
    const { api, queue_id } = await withQueue();
    for (const [id, extraFields] of [
      ['bulkDeleteCases', {}],
      ['bulkReprocessCases', {}],
      ['bulkUpdateCasePriority', { priority: 'high' }],
      ['bulkUpdateCaseStatus', { status: 'failed' }],
      ['bulkDelegateCases', { agent_id: unknownId }],
      ['bulkRetryCases', {}],
    ] as const) {
      const call = (count: number) =>
        api.call(id, { params: { queue_id }, body: { case_ids: Array.from({ length: count }, () => unknownId), ...extraFields } });
      expect(await call(0), id).toMatchObject({ status: 400, body: { message: 'case_ids must have at least 1 item.' } });
      expect(await call(101), id).toMatchObject({ status: 400, body: { message: 'case_ids must have at most 100 items.' } });
      expect((await call(100)).status, id).toBeLessThan(400);
    }
  });

  it('require IDs or all that match, and an existing queue', async () => {
    const { api, queue_id } = await withQueue();
    const [row] = (await add(api, queue_id, [{ title: 'a' }])) as [Case];
    const fieldsOf = {
      bulkDeleteCases: {},
      bulkReprocessCases: {},
      bulkUpdateCasePriority: { priority: 'high' },
      bulkUpdateCaseStatus: { status: 'failed' },
    };
    for (const [id, extraFields] of Object.entries(fieldsOf) as [keyof typeof fieldsOf, object][]) {
      for (const body of [{}, { all_matching: false }, { filters: {} }, { case_ids: [row.id], all_matching: true }, { case_ids: ['x'] }])
        expect(
          failure(await api.call(id, { params: { queue_id }, body: { ...body, ...extraFields } })),
          `${id} ${JSON.stringify(body)}`,
        ).toEqual([400, 'invalid_request']);
      expect(failure(await api.call(id, { params: { queue_id: unknownId }, body: { all_matching: true, ...extraFields } }))).toEqual([
        404,
        'queue_not_found',
      ]);
    }
    expect((await api.ok('getCase', { params: { case_id: row.id } })).case).toMatchObject({ status: 'pending', priority: 'none' });
    // A case of another queue is skipped.
    const { queue } = await api.ok('createQueue', { body: { name: 'Other' } });
    expect(await api.ok('bulkDeleteCases', { params: { queue_id: queue.id }, body: { case_ids: [row.id] } })).toMatchObject({
      deletedCount: 0,
    });
  });

  it('delegate only to an existing agent that can run', async () => {
    const { api, queue_id } = await withQueue();
    const [row] = (await add(api, queue_id, [{ title: 'a' }])) as [Case];
    const reprocessWith = (agent_id: string) =>
      api.call('bulkReprocessCases', { params: { queue_id }, body: { case_ids: [row.id], agent_id } });
    expect(failure(await reprocessWith(unknownId))).toEqual([404, 'agent_not_found']);
    const { agent } = await api.ok('createAgent', { body: { name: 'Empty' } });
    expect(failure(await reprocessWith(agent.id))).toEqual([409, 'agent_has_no_live_revision']);
  });

  it('that were retired point to the one that replaced them', async () => {
    const { api, queue_id } = await withQueue();
    const location = `/v2/queues/${queue_id}/cases/bulk-reprocess`;
    const body = { case_ids: [unknownId], agent_id: unknownId };
    for (const id of ['bulkDelegateCases', 'bulkRetryCases'] as const) {
      const answer = await api.call(id, { params: { queue_id }, body });
      expect(answer).toMatchObject({ status: 308, headers: { location }, body: { location } });
      // A client that follows sends the same headers there, and an idempotency key belongs to one request.
      const headers = { 'idempotency-key': `key-${id}` };
      for (let time = 0; time < 2; time += 1) {
        const replay = await api.call(id, { params: { queue_id }, body, headers });
        expect(replay).toMatchObject({ status: 308, headers: { location } });
        expect(replay.headers).not.toHaveProperty('idempotency-replayed');
      }
      const followUpBody = { case_ids: [unknownId] };
      const followUp = await api.call('bulkReprocessCases', { params: { queue_id }, body: followUpBody, headers });
      expect(followUp).toMatchObject({ status: 200, body: { reprocessedCount: 0, skippedCount: 1 } });
      expect(failure(await api.call(id, { params: { queue_id: unknownId }, body }))).toEqual([404, 'queue_not_found']);
      expect(failure(await api.call(id, { params: { queue_id }, body: {} }))).toEqual([400, 'invalid_request']);
    }
  });
});

describe('labels', () => {
  it('are created, changed, deleted, added to cases, and removed from them', async () => {
    const { api, queue_id } = await withQueue();
    const [row] = (await add(api, queue_id, [{ title: 'a' }])) as [Case];
    const params = { queue_id };
    const { label } = await api.ok('createQueueLabel', { params, body: { key: 'vendor', value: 'acme', color_hue: 120 } });
    expect(label).toMatchObject({ key: 'vendor', value: 'acme', color_hue: 120, case_count: 0 });
    // Creating the same label again returns the existing one.
    expect((await api.ok('createQueueLabel', { params, body: { key: 'vendor', value: 'acme', color_hue: 1 } })).label).toEqual(label);

    const caseParams = { queue_id, case_id: row.id };
    const assignment = await api.ok('assignCaseLabels', {
      params: caseParams,
      body: { labels: [{ key: 'vendor', value: 'acme' }, { value: 'urgent' }] },
    });
    expect(assignment.labels.map(({ key, value }) => `${key}=${value}`)).toEqual(['=urgent', 'vendor=acme']);
    await api.ok('assignCaseLabels', { params: caseParams, body: { labels: [{ value: 'urgent' }] } });
    expect(await api.ok('listCaseLabels', { params: caseParams })).toEqual(assignment);
    expect((await api.ok('listCaseLabels', { params: caseParams, query: { limit: 1, offset: 1 } })).labels).toEqual([assignment.labels[1]]);
    expect((await api.ok('listQueueLabels', { params })).labels.map(({ case_count }) => case_count)).toEqual([1, 1]);

    for (const [labels, message] of [
      [[], 'labels must have at least 1 item.'],
      [Array.from({ length: 51 }, (_, index) => ({ value: `label ${index}` })), 'labels must have at most 50 items.'],
    ])
      expect(await api.call('assignCaseLabels', { params: caseParams, body: { labels } })).toMatchObject({
        status: 400,
        body: { message },
      });
    expect((await api.call('unlinkCaseLabels', { params: caseParams, body: { label_ids: [] } })).status).toBe(400);

    const renamedLabel = await api.ok('updateQueueLabel', { params: { queue_id, label_id: label.id }, body: { value: 'acme gmbh' } });
    expect(renamedLabel.label).toMatchObject({ id: label.id, key: 'vendor', value: 'acme gmbh', color_hue: 120 });
    expect((await api.ok('getCase', { params: { case_id: row.id } })).case.labels.map(({ value }) => value)).toEqual([
      'urgent',
      'acme gmbh',
    ]);
    expect(await api.ok('unlinkCaseLabels', { params: caseParams, body: { label_ids: [label.id] } })).toEqual({ success: true });
    expect((await api.ok('listCaseLabels', { params: caseParams })).labels.map(({ value }) => value)).toEqual(['urgent']);
    const urgentId = assignment.labels[0]?.id as string;
    expect(await api.ok('deleteQueueLabel', { params: { queue_id, label_id: urgentId } })).toEqual({ success: true });
    expect((await api.ok('listCaseLabels', { params: caseParams })).labels).toEqual([]);
    expect((await api.ok('listQueueLabels', { params, query: { limit: 1 } })).labels.map(({ value }) => value)).toEqual(['acme gmbh']);
  });

  it('must not be duplicates, unknown, or from another queue', async () => {
    const { api, queue_id } = await withQueue();
    const [row] = (await add(api, queue_id, [{ title: 'a', labels: [{ value: 'x' }, { value: 'y' }] }])) as [Case];
    const [x] = row.labels as [Case['labels'][0]];
    const conflictAnswer = await api.call('updateQueueLabel', { params: { queue_id, label_id: x.id }, body: { value: 'y' } });
    expect(failure(conflictAnswer)).toEqual([409, 'label_taken']);
    const { queue: otherQueue } = await api.ok('createQueue', { body: { name: 'Other' } });
    for (const params of [
      { queue_id, label_id: unknownId },
      { queue_id: otherQueue.id, label_id: x.id },
    ]) {
      expect(failure(await api.call('updateQueueLabel', { params, body: { value: 'z' } }))).toEqual([404, 'label_not_found']);
      expect(failure(await api.call('deleteQueueLabel', { params }))).toEqual([404, 'label_not_found']);
    }
    for (const params of [
      { queue_id, case_id: unknownId },
      { queue_id: otherQueue.id, case_id: row.id },
    ]) {
      expect(failure(await api.call('listCaseLabels', { params }))).toEqual([404, 'case_not_found']);
      expect(failure(await api.call('assignCaseLabels', { params, body: { labels: [{ value: 'z' }] } }))).toEqual([404, 'case_not_found']);
      expect(failure(await api.call('unlinkCaseLabels', { params, body: { label_ids: [x.id] } }))).toEqual([404, 'case_not_found']);
    }
    const caseParams = { queue_id, case_id: row.id };
    expect(failure(await api.call('unlinkCaseLabels', { params: caseParams, body: { label_ids: [unknownId] } }))).toEqual([
      404,
      'label_not_found',
    ]);
    expect(failure(await api.call('createQueueLabel', { params: { queue_id }, body: { value: '' } }))).toEqual([400, 'invalid_request']);
    expect(failure(await api.call('createQueueLabel', { params: { queue_id }, body: { value: 'x', color_hue: 361 } }))).toEqual([
      400,
      'invalid_request',
    ]);
    expect(failure(await api.call('createQueueLabel', { params: { queue_id: randomUUID() }, body: { value: 'x' } }))).toEqual([
      404,
      'queue_not_found',
    ]);
  });
});
