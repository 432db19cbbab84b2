/** Lists, starts, reads, and stops runs, and sends messages to them. Detail and report are in run-detail.ts. */
import type { RunStatus } from '../../interface/types.ts';
import { postMessage, respond } from '../engine/runs/conversation.ts';
import { startRun, stopRun } from '../engine/runs/lifecycle.ts';
import { ServiceError } from '../errors.ts';
import { requirePermission, requireRunEvents } from '../http/access.ts';
import type { GroupRoutes, HandlerInput, RequestContext } from '../http/context.ts';
import { instant } from '../http/instant.ts';
import type { Store } from '../store/database/database.ts';
import { fittingCount } from '../store/database/page-bytes.ts';
import { totalOf } from '../store/database/total.ts';
import { countRunRequests, listRequestRows, pendingRequestSizes, pendingRequests, requestOf } from '../store/runs/human-requests.ts';
import { countMessages, listMessageRows } from '../store/runs/messages.ts';
import type { RunFilter } from '../store/runs/run-filter.ts';
import { countRuns, listRunRows } from '../store/runs/run-list.ts';
import { findRepository } from '../store/runs/sandbox-repositories.ts';
import { answeredRequestView, humanRequestView, messageView, recordedRequestView, runListItem, runView } from '../views/runs.ts';
import { runDetailRoutes } from './run-detail.ts';
import { repositoryView, requestedRepository } from './run-repository.ts';
import { requireRun, requireTeam } from './shared/lookups.ts';

export const runRoutes: GroupRoutes<'runs'> = {
  ...runDetailRoutes,

  async listRuns(context, { params, query }) {
    requireTeam(context, params.teamId);
    const { store } = context.engine;
    const filter = runFilter(context, query);
    if (filter === undefined) return { data: [], total: 0 };
    const read = () => runPage(store, filter, query);
    return filter.search === undefined ? read() : store.readSlowly(context.teamId, read);
  },

  async startRun(context, { params, body }) {
    requireTeam(context, params.teamId);
    if (body.webhook_url !== undefined) requireRunEvents(context);
    const repository = body.repository === undefined ? undefined : await requestedRepository(context, body.repository);
    const run = await startRun(context.engine, {
      teamId: context.teamId,
      agentId: body.agent_id,
      source: 'api',
      message: body.message,
      sandboxId: body.sandbox_id,
      webhookUrl: body.webhook_url,
      repository,
    });
    const row = repository === undefined ? undefined : await findRepository(context.engine.store, run.sandbox_id);
    return { run: runView(run, undefined), ...(row === undefined ? {} : { repository: repositoryView(row) }) };
  },

  async getRun(context, { params }) {
    const run = await requireRun(context, params.run_id);
    const pending = await requestOf(context.engine.store, run);
    return { run: runView(run, pending), pending_human_request: pending === undefined ? null : humanRequestView(pending) };
  },

  async listRunMessages(context, { params, query }) {
    const { limit = 20, offset = 0 } = query;
    const run = await requireRun(context, params.run_id);
    const { store } = context.engine;
    const total = await countMessages(store, run.id);
    // Read last, so that the pages of many requests do not wait in memory for each other.
    return { messages: (await listMessageRows(store, run.id, { limit, offset })).map(messageView), total, limit, offset };
  },

  async postRunMessage(context, { params, body }) {
    if (body.message.trim() === '') {
      throw new ServiceError(400, 'invalid_request', 'message must not be empty.', {
        details: [{ path: 'message', message: 'must not be empty' }],
      });
    }
    const to = { teamId: context.teamId, runId: params.run_id, senderId: context.credentialId };
    // To a waiting run, a message is the answer.
    const mayAnswer = () => requirePermission(context, 'respondToHumanRequest');
    const { expected_human_request_id: expectedRequest } = body;
    const { message, answeredRequest } = await postMessage(context.engine, to, body.message, {
      checkPermission: mayAnswer,
      expectedRequest,
    });
    return { message: messageView(message), human_request: answeredRequest === undefined ? null : answeredRequestView(answeredRequest) };
  },

  async listRunHumanRequests(context, { params, query }) {
    const { limit = 20, offset = 0 } = query;
    const run = await requireRun(context, params.run_id);
    const { store } = context.engine;
    const rows = await listRequestRows(store, run.id, { limit, offset });
    return { human_requests: rows.map(recordedRequestView), total: await countRunRequests(store, run.id), limit, offset };
  },

  async respondToHumanRequest(context, { params, body }) {
    const to = { teamId: context.teamId, runId: params.run_id, requestId: params.request_id, responderId: context.credentialId };
    return { human_request: answeredRequestView(await respond(context.engine, to, body)) };
  },

  async stopRun(context, { params }) {
    const { run, stopped } = await stopRun(context.engine, context.teamId, params.run_id);
    return { success: true, message: stopped ? 'The run was interrupted.' : `The run is already ${run.status}; nothing was stopped.` };
  },
};

async function runPage(store: Store, filter: RunFilter, query: HandlerInput<'listRuns'>['query']) {
  if (query.count_only === 'true') return { data: [], total: await countRuns(store, filter) };
  const { limit = 20, offset = 0, sort_order: order = 'desc' } = query;
  // One more than requested, which shows whether there are more without counting them.
  const slice = { limit: limit + 1, offset };
  const rows = await listRunRows(store, filter, { ...slice, order });
  const asking = rows.slice(0, limit).filter((row) => row.status === 'waiting');
  const sizes = await pendingRequestSizes(
    store,
    asking.map((row) => row.id),
  );
  const count = fittingCount(rows.slice(0, limit).map((row) => (row.error?.length ?? 0) + (sizes.get(row.id) ?? 0)));
  const page = rows.slice(0, count);
  const pending = await pendingRequests(
    store,
    asking.filter((row) => page.includes(row)).map((row) => row.id),
  );
  // Without a count, the total is a lower bound: all runs up to here, plus one more if there is one.
  const atLeast = rows.length === 0 ? 0 : offset + rows.length;
  return {
    data: page.map((row) => runListItem(row, pending.get(row.id))),
    total: query.include_total === 'false' ? atLeast : await totalOf({ ...slice, matchCount: rows.length }, () => countRuns(store, filter)),
  };
}

const statusFilters: Record<string, RunStatus[]> = { stopped: ['interrupted'], needs_attention: ['waiting', 'failed'] };

/** The filter of a query; undefined if it requires something that no run of this service has, such as a user or a digest. */
function runFilter(context: RequestContext, query: HandlerInput<'listRuns'>['query']): RunFilter | undefined {
  if ((query.user_id ?? query.digest_id) !== undefined) return undefined;
  return {
    teamId: context.teamId,
    ...(query.agent_id === undefined ? {} : { agentId: query.agent_id }),
    ...(query.status === undefined ? {} : { statuses: statusFilters[query.status] ?? [query.status as RunStatus] }),
    ...(query.since === undefined ? {} : { since: instant('since', query.since) }),
    ...(query.until === undefined ? {} : { until: instant('until', query.until) }),
    ...(query.source === undefined ? {} : { source: query.source }),
    ...(query.has_issues === undefined ? {} : { hasIssues: query.has_issues === 'true' }),
    ...(query.issue_severity === undefined ? {} : { issueSeverity: query.issue_severity }),
    ...(query.case_queue_id === undefined ? {} : { caseQueueId: query.case_queue_id }),
    ...(query.run_number === undefined ? {} : { number: query.run_number }),
    ...(query.search === undefined || query.search.trim() === '' ? {} : { search: query.search }),
  };
}
