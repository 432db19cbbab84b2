/** Queues. */

import { deleteCases, lockedCaseIds, lockRunsOf } from '../engine/dispatch/bulk.ts';
import { abortDrivers } from '../engine/runs/lifecycle.ts';
import { ServiceError } from '../errors.ts';
import type { GroupRoutes, RequestContext } from '../http/context.ts';
import { newId } from '../ids.ts';
import { triggersOnQueues } from '../store/cases/case-triggers.ts';
import { caseIdsOf } from '../store/cases/cases.ts';
import { deleteQueueRow, findQueueNamed, insertQueue, listQueueRows, updateQueueRow } from '../store/cases/queues.ts';
import type { Queries } from '../store/database/database.ts';
import { isoTime } from '../store/database/time.ts';
import { queueView } from '../views/cases.ts';
import { requireQueue, requireTeam } from './shared/lookups.ts';

async function requireFreeName(context: RequestContext, db: Queries, text: string, ownId?: string): Promise<string> {
  const name = text.trim();
  if (name === '') {
    const details = [{ path: 'name', message: 'must not be empty' }];
    throw new ServiceError(400, 'invalid_request', 'name must not be empty.', { details });
  }
  const holder = await findQueueNamed(db, context.teamId, name);
  if (holder === undefined || holder.id === ownId) return name;
  throw new ServiceError(409, 'queue_name_taken', `There is already a queue named "${name}" (${holder.id}).`);
}

export const queueRoutes: GroupRoutes<'queues'> = {
  async listQueues(context, { params, query }) {
    requireTeam(context, params.teamId);
    const { limit = 250, offset = 0, automation_id: automationId } = query;
    const { rows, total } = await listQueueRows(context.engine.store, { teamId: context.teamId, automationId, limit, offset });
    return { queues: rows.map(queueView), total, limit, offset };
  },

  async createQueue(context, { params, body }) {
    requireTeam(context, params.teamId);
    const now = isoTime(context.engine.clock.now());
    return context.engine.store.transaction().execute(async (trx) => {
      const queue = await insertQueue(trx, {
        id: newId(),
        team_id: context.teamId,
        name: await requireFreeName(context, trx, body.name),
        description: body.description ?? null,
        folder_id: body.folder_id ?? null,
        automation_id: body.automation_id ?? null,
        created_at: now,
        updated_at: now,
      });
      return { queue: queueView(queue) };
    });
  },

  async getQueue(context, { params }) {
    return { queue: queueView(await requireQueue(context, context.engine.store, params.queue_id)) };
  },

  async updateQueue(context, { params, body }) {
    const now = isoTime(context.engine.clock.now());
    return context.engine.store.transaction().execute(async (trx) => {
      const queue = await requireQueue(context, trx, params.queue_id);
      const updatedRow = await updateQueueRow(trx, queue.id, {
        name: body.name === undefined ? queue.name : await requireFreeName(context, trx, body.name, queue.id),
        description: body.description === undefined ? queue.description : body.description,
        folder_id: body.folder_id === undefined ? queue.folder_id : body.folder_id,
        updated_at: now,
      });
      return { queue: queueView(updatedRow) };
    });
  },

  async deleteQueue(context, { params }) {
    await requireQueue(context, context.engine.store, params.queue_id);
    const outcome = await context.engine.store.transaction().execute(async (trx) => {
      await lockRunsOf(trx, () => caseIdsOf(trx, params.queue_id));
      const queue = await requireQueue(context, trx, params.queue_id);
      const agents = (await triggersOnQueues(trx, [queue.id])).map(({ agent_name }) => agent_name);
      if (agents.length > 0) {
        const reason = `${agents.length === 1 ? 'An agent has' : 'Agents have'} a case trigger on this queue: ${agents.join(', ')}.`;
        throw new ServiceError(409, 'queue_in_use', `${reason} Delete or move the trigger first.`);
      }
      const ids = await lockedCaseIds(trx, queue.id);
      const interruptedIds = await deleteCases(context.engine, trx, queue.id, ids);
      await deleteQueueRow(trx, queue.id);
      return { count: ids.length, interruptedIds };
    });
    abortDrivers(context.engine, outcome.interruptedIds);
    return { success: true, deleted_case_count: outcome.count, interrupted_run_ids: outcome.interruptedIds };
  },
};
