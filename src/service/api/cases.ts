/** Lists, creates, reads, and deletes cases. Bulk actions and labels are in case-bulk.ts and case-labels.ts. */

import { createCases } from '../engine/cases/create.ts';
import { deleteCases, lockedCaseIds, lockRunsOf } from '../engine/dispatch/bulk.ts';
import { abortDrivers } from '../engine/runs/lifecycle.ts';
import { notFound, ServiceError } from '../errors.ts';
import { requireFewLabels } from '../http/bounds.ts';
import type { GroupRoutes, RequestContext } from '../http/context.ts';
import { evaluationsOf } from '../store/agents/evaluations.ts';
import { listCaseEvents } from '../store/cases/case-events.ts';
import { type CaseFilter, type CasePage, countCases, listCaseRows } from '../store/cases/case-list.ts';
import { caseIdsOf } from '../store/cases/cases.ts';
import type { Store } from '../store/database/database.ts';
import { isoTime } from '../store/database/time.ts';
import { totalOf } from '../store/database/total.ts';
import { pendingRequests } from '../store/runs/human-requests.ts';
import { latestMessageRows } from '../store/runs/messages.ts';
import { listCaseRunRows } from '../store/runs/runs.ts';
import { caseEventView, caseRunView, caseViews } from '../views/cases.ts';
import { messageView } from '../views/runs.ts';
import { caseBulkRoutes } from './case-bulk.ts';
import { caseLabelRoutes } from './case-labels.ts';
import { caseFilter, wordsOf } from './shared/case-filter.ts';
import { requireCase, requireQueue, requireRun } from './shared/lookups.ts';

export const caseRoutes: GroupRoutes<'cases'> = {
  ...caseBulkRoutes,
  ...caseLabelRoutes,

  async listCases(context, { params, query }) {
    const { limit = 20, offset = 0, status, priority, search, sort_by, sort_order, ...times } = query;
    const queue = await requireQueue(context, context.engine.store, params.queue_id);
    const filters = { ...times, ...wordsOf(status, priority) };
    const filter = caseFilter(context, queue.id, { filters, ...(search === undefined ? {} : { search }) });
    return casePage(context, filter, { limit, offset, sortBy: sort_by ?? 'created_at', order: sort_order ?? 'desc' });
  },

  async searchCases(context, { params, body }) {
    const { limit = 25, offset = 0, sort_by, sort_order } = body;
    const queue = await requireQueue(context, context.engine.store, params.queue_id);
    const page = { limit, offset, sortBy: sort_by ?? 'created_at', order: sort_order ?? 'desc' } as const;
    return casePage(context, caseFilter(context, queue.id, body), page);
  },

  async createCases(context, { params, body }) {
    if ((body.case === undefined) === (body.cases === undefined)) {
      const hasBoth = body.case !== undefined;
      throw new ServiceError(400, 'invalid_request', hasBoth ? 'Specify case or cases, not both.' : 'Specify case or cases.', {
        details: [{ path: 'cases', message: hasBoth ? 'must be left out if there is a case' : 'is required unless there is a case' }],
      });
    }
    const drafts = body.cases ?? (body.case === undefined ? [] : [body.case]);
    for (const [index, { labels = [] }] of drafts.entries())
      requireFewLabels(body.case === undefined ? `cases.${index}.labels` : 'case.labels', labels.length);
    const now = isoTime(context.engine.clock.now());
    const addedCases = await context.engine.store.transaction().execute(async (trx) => {
      const queue = await requireQueue(context, trx, params.queue_id);
      return caseViews(trx, await createCases(context.engine, trx, queue, drafts), now);
    });
    context.engine.worker.wake();
    return { added_cases: addedCases };
  },

  async clearQueueCases(context, { params }) {
    await requireQueue(context, context.engine.store, params.queue_id);
    const outcome = await context.engine.store.transaction().execute(async (trx) => {
      await lockRunsOf(trx, () => caseIdsOf(trx, params.queue_id));
      const queue = await requireQueue(context, trx, params.queue_id);
      const ids = await lockedCaseIds(trx, queue.id);
      return { count: ids.length, interruptedIds: await deleteCases(context.engine, trx, queue.id, ids) };
    });
    abortDrivers(context.engine, outcome.interruptedIds);
    return { success: true, deletedCount: outcome.count, interruptedRunIds: outcome.interruptedIds };
  },

  async getCase(context, { params }) {
    const { store, clock } = context.engine;
    const row = await requireCase(context, store, params.case_id);
    const [view] = await caseViews(store, [row], isoTime(clock.now()));
    if (view === undefined) throw notFound('case', params.case_id);
    return { case: view, events: (await listCaseEvents(store, row.id)).map(caseEventView), approvalBatches: [] };
  },

  async deleteCase(context, { params }) {
    await requireCase(context, context.engine.store, params.case_id);
    const interruptedIds = await context.engine.store.transaction().execute(async (trx) => {
      await lockRunsOf(trx, async () => [params.case_id]);
      const row = await requireCase(context, trx, params.case_id);
      return deleteCases(context.engine, trx, row.queue_id, [row.id]);
    });
    abortDrivers(context.engine, interruptedIds);
    return { success: true, interruptedRunIds: interruptedIds };
  },

  async listCaseRuns(context, { params }) {
    const { store } = context.engine;
    const row = await requireCase(context, store, params.case_id);
    const runs = await listCaseRunRows(store, row.id);
    const requests = await pendingRequests(
      store,
      runs.filter(({ status }) => status === 'waiting').map(({ id }) => id),
    );
    const evaluations = await evaluationsOf(
      store,
      runs.map(({ id }) => id),
    );
    return { runs: runs.map((run) => caseRunView(run, requests.get(run.id), evaluations.get(run.id))) };
  },

  async listCaseRunRecentMessages(context, { params, query }) {
    const { store } = context.engine;
    const row = await requireCase(context, store, params.case_id);
    const run = await requireRun(context, params.run_id);
    if (run.case_id !== row.id) throw notFound('run', params.run_id);
    const { limit = 5 } = query;
    return { messages: (await latestMessageRows(store, run.id, limit)).rows.map(messageView) };
  },
};

function casePage({ engine: { store }, teamId }: RequestContext, filter: CaseFilter, page: CasePage) {
  const read = () => readCasePage(store, filter, page);
  return filter.search === undefined ? read() : store.readSlowly(teamId, read);
}

async function readCasePage(store: Store, filter: CaseFilter, page: CasePage) {
  const { rows, matchCount } = await listCaseRows(store, filter, page);
  const cases = await caseViews(store, rows, filter.now, filter.search);
  const { limit, offset } = page;
  const total = await totalOf({ matchCount, limit, offset }, () => countCases(store, filter));
  return { cases, total, limit, offset };
}
