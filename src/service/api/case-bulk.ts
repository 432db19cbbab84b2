/** Bulk actions on cases: on some, or on all that match. Cases that an action does not apply to are skipped and counted. */
import type { CaseFilters } from '../../interface/types.ts';
import { deleteCases, reprocess, setPriority, setStatus } from '../engine/dispatch/bulk.ts';
import { abortDrivers } from '../engine/runs/lifecycle.ts';
import { ServiceError } from '../errors.ts';
import { type GroupRoutes, Reply, type RequestContext } from '../http/context.ts';
import { matchingCases } from '../store/cases/case-list.ts';
import { casesOfQueue } from '../store/cases/cases.ts';
import type { Queries } from '../store/database/database.ts';
import type { CaseRow, QueueRow } from '../store/database/schema.ts';
import { caseFilter } from './shared/case-filter.ts';
import { requireAgent, requireQueue } from './shared/lookups.ts';

interface Selection {
  case_ids?: string[];
  all_matching?: boolean;
  filters?: CaseFilters;
  search?: string;
}

interface Selected {
  queue: QueueRow;
  rows: CaseRow[];
  /** How many cases were requested, including those that do not exist. */
  requested: number;
}

type BulkOperation =
  | 'bulkDeleteCases'
  | 'bulkReprocessCases'
  | 'bulkUpdateCasePriority'
  | 'bulkUpdateCaseStatus'
  | 'bulkDelegateCases'
  | 'bulkRetryCases';

export const caseBulkRoutes: Pick<GroupRoutes<'cases'>, BulkOperation> = {
  async bulkDeleteCases(context, { params, body }) {
    const { count, interrupted } = await onCases(context, params.queue_id, body, async (trx, { queue, rows }) => ({
      count: rows.length,
      interrupted: await deleteCases(
        context.engine,
        trx,
        queue.id,
        rows.map(({ id }) => id),
      ),
    }));
    abortDrivers(context.engine, interrupted);
    return { deletedCount: count, interruptedRunIds: interrupted };
  },

  async bulkReprocessCases(context, { params, body }) {
    const { interrupted, ...counts } = await onCases(context, params.queue_id, body, async (trx, { queue, rows, requested }) => {
      const agent = body.agent_id === undefined ? undefined : await requireAgent(context, trx, body.agent_id);
      if (agent?.live_build_id === null) {
        throw new ServiceError(
          409,
          'agent_has_no_live_revision',
          `The agent ${agent.name} has no live revision; create one and promote it.`,
        );
      }
      const done = await reprocess(context.engine, trx, queue, rows, agent?.id);
      const changed = done.changed.length;
      const which = agent === undefined ? { retriedCount: changed } : { delegatedCount: changed };
      return { reprocessedCount: changed, skippedCount: requested - changed, ...which, interrupted: done.interrupted };
    });
    abortDrivers(context.engine, interrupted);
    return counts;
  },

  async bulkUpdateCasePriority(context, { params, body }) {
    return onCases(context, params.queue_id, body, async (trx, { rows, requested }) => {
      const changed = (await setPriority(context.engine, trx, rows, body.priority)).length;
      return { updatedCount: changed, skippedCount: requested - changed };
    });
  },

  async bulkUpdateCaseStatus(context, { params, body }) {
    const counts = await onCases(context, params.queue_id, body, async (trx, { queue, rows, requested }) => {
      const { changed, interrupted } = await setStatus(context.engine, trx, queue, rows, body.status);
      return { updatedCount: changed.length, skippedCount: requested - changed.length, interruptedRunIds: interrupted };
    });
    abortDrivers(context.engine, counts.interruptedRunIds);
    return counts;
  },

  bulkDelegateCases: (context, { params }) => redirect(context, params.queue_id),
  bulkRetryCases: (context, { params }) => redirect(context, params.queue_id),
};

/** Does something to the cases of a request, in one transaction. Throws 400 `invalid_request`, 404 `queue_not_found`. */
async function onCases<T>(
  context: RequestContext,
  queueId: string,
  selection: Selection,
  act: (trx: Queries, selected: Selected) => Promise<T>,
): Promise<T> {
  const { case_ids: ids, all_matching: all } = selection;
  if ((ids === undefined) !== (all === true)) {
    const message = ids === undefined ? 'Specify case_ids or all_matching.' : 'Specify case_ids or all_matching, not both.';
    throw new ServiceError(400, 'invalid_request', message, { details: [{ path: 'case_ids', message }] });
  }
  return context.engine.store.transaction().execute(async (trx) => {
    const queue = await requireQueue(context, trx, queueId);
    if (ids === undefined) {
      const rows = await matchingCases(trx, caseFilter(context, queue.id, selection));
      return act(trx, { queue, rows, requested: rows.length });
    }
    const rows = await casesOfQueue(trx, queue.id, ids);
    return act(trx, { queue, rows, requested: new Set(ids).size });
  });
}

/** These operations were retired; the client must send the same body to the operation that replaced them. */
async function redirect(context: RequestContext, queueId: string): Promise<Reply<{ message: string; location: string }>> {
  const queue = await requireQueue(context, context.engine.store, queueId);
  const location = `/v2/queues/${queue.id}/cases/bulk-reprocess`;
  return new Reply(
    308,
    { message: 'This operation was retired. Send the same body to the location instead.', location },
    { Location: location },
  );
}
