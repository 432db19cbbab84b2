/** Bulk actions on cases: on some, or on all that match. Cases that an action does not apply to are skipped and counted. */
import type { CaseFilters } from '../../interface/types.ts';
import { deleteCases, lockRunsOf, reprocess, setPriority, setStatus } from '../engine/dispatch/bulk.ts';
import { abortDrivers } from '../engine/runs/lifecycle.ts';
import { ServiceError } from '../errors.ts';
import { type GroupRoutes, Reply, type RequestContext } from '../http/context.ts';
import { matchingCases } from '../store/cases/case-list.ts';
import { casesOfQueue } from '../store/cases/cases.ts';
import type { Queries } from '../store/database/database.ts';
import { isShared, lockRows } from '../store/database/row-locks.ts';
import type { CaseRow, QueueRow } from '../store/database/schema.ts';
import { caseFilter } from './shared/case-filter.ts';
import { requireAgent, requireQueue } from './shared/lookups.ts';

interface Selection {
  case_ids?: string[];
  all_matching?: boolean;
  filters?: CaseFilters;
  search?: string;
  /** The agent that is to take them. */
  agent_id?: string;
}

interface SelectedCases {
  queue: QueueRow;
  rows: CaseRow[];
  /** How many cases were requested, including those that do not exist. */
  requestedCount: number;
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
    const { count, interruptedIds } = await onCases(context, params.queue_id, body, async (trx, { queue, rows }) => ({
      count: rows.length,
      interruptedIds: await deleteCases(
        context.engine,
        trx,
        queue.id,
        rows.map(({ id }) => id),
      ),
    }));
    abortDrivers(context.engine, interruptedIds);
    return { deletedCount: count, interruptedRunIds: interruptedIds };
  },

  async bulkReprocessCases(context, { params, body }) {
    const { interruptedIds, ...counts } = await onCases(context, params.queue_id, body, async (trx, { queue, rows, requestedCount }) => {
      const agent = body.agent_id === undefined ? undefined : await requireAgent(context, trx, body.agent_id);
      if (agent?.live_build_id === null) {
        throw new ServiceError(
          409,
          'agent_has_no_live_revision',
          `The agent ${agent.name} has no live revision; create one and promote it.`,
        );
      }
      const outcome = await reprocess(context.engine, trx, queue, rows, agent?.id);
      const changedCount = outcome.changedRows.length;
      const actionCount = agent === undefined ? { retriedCount: changedCount } : { delegatedCount: changedCount };
      return {
        reprocessedCount: changedCount,
        skippedCount: requestedCount - changedCount,
        ...actionCount,
        interruptedIds: outcome.interruptedIds,
      };
    });
    abortDrivers(context.engine, interruptedIds);
    return counts;
  },

  async bulkUpdateCasePriority(context, { params, body }) {
    return onCases(context, params.queue_id, body, async (trx, { rows, requestedCount }) => {
      const changedCount = (await setPriority(context.engine, trx, rows, body.priority)).length;
      return { updatedCount: changedCount, skippedCount: requestedCount - changedCount };
    });
  },

  async bulkUpdateCaseStatus(context, { params, body }) {
    const counts = await onCases(context, params.queue_id, body, async (trx, { queue, rows, requestedCount }) => {
      const { changedRows, interruptedIds } = await setStatus(context.engine, trx, queue, rows, body.status);
      return { updatedCount: changedRows.length, skippedCount: requestedCount - changedRows.length, interruptedRunIds: interruptedIds };
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
  act: (trx: Queries, cases: SelectedCases) => Promise<T>,
): Promise<T> {
  const { case_ids: ids, all_matching: allMatching } = selection;
  if ((ids === undefined) !== (allMatching === true)) {
    const message = ids === undefined ? 'Specify case_ids or all_matching.' : 'Specify case_ids or all_matching, not both.';
    throw new ServiceError(400, 'invalid_request', message, { details: [{ path: 'case_ids', message }] });
  }
  const { id } = await requireQueue(context, context.engine.store, queueId);
  return context.engine.store.transaction().execute(async (trx) => {
    const select = (): Promise<CaseRow[]> =>
      ids === undefined ? matchingCases(trx, caseFilter(context, id, selection)) : casesOfQueue(trx, id, ids);
    const rows = await lockedCases(trx, { queueId: id, agentId: selection.agent_id }, select);
    const queue = await requireQueue(context, trx, id);
    return act(trx, { queue, rows, requestedCount: ids === undefined ? rows.length : new Set(ids).size });
  });
}

/** The selected cases of a queue, as they are until the transaction ends, like the queue and the agent that is to take them. */
async function lockedCases(
  trx: Queries,
  { queueId, agentId }: { queueId: string; agentId: string | undefined },
  select: () => Promise<CaseRow[]>,
): Promise<CaseRow[]> {
  if (!isShared(trx)) return select();
  const ids = new Set<string>();
  await lockRunsOf(trx, async () => {
    for (const { id } of await select()) ids.add(id);
    return [...ids];
  });
  if (agentId !== undefined) await lockRows(trx, 'agents', [agentId]);
  await lockRows(trx, 'queues', [queueId]);
  await lockRows(trx, 'cases', [...ids]);
  // Some may have changed before they were locked.
  return (await select()).filter(({ id }) => ids.has(id));
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
