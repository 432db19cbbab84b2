/** Labels of queues, and of cases. */
import { ensureLabel } from '../engine/cases/labels.ts';
import { notFound, ServiceError } from '../errors.ts';
import type { GroupRoutes } from '../http/context.ts';
import {
  countLabelled,
  deleteLabelRow,
  findLabel,
  findLabelNamed,
  labelsOf,
  linkLabels,
  listLabelRows,
  unlinkLabels,
  updateLabelRow,
} from '../store/cases/labels.ts';
import type { Queries } from '../store/database/database.ts';
import { lockRows } from '../store/database/row-locks.ts';
import type { QueueLabelRow } from '../store/database/schema.ts';
import { isoTime } from '../store/database/time.ts';
import { labelView } from '../views/cases.ts';
import { requireCase, requireQueue } from './shared/lookups.ts';

type LabelOperation =
  | 'listQueueLabels'
  | 'createQueueLabel'
  | 'updateQueueLabel'
  | 'deleteQueueLabel'
  | 'listCaseLabels'
  | 'assignCaseLabels'
  | 'unlinkCaseLabels';

export const caseLabelRoutes: Pick<GroupRoutes<'cases'>, LabelOperation> = {
  async listQueueLabels(context, { params, query }) {
    const { limit = 1_000, offset = 0 } = query;
    const queue = await requireQueue(context, context.engine.store, params.queue_id);
    const rows = await listLabelRows(context.engine.store, queue.id, { limit, offset });
    return { labels: rows.map((row) => ({ ...labelView(row), case_count: row.case_count })) };
  },

  async createQueueLabel(context, { params, body }) {
    const now = isoTime(context.engine.clock.now());
    return context.engine.store.transaction().execute(async (trx) => {
      const queue = await requireQueue(context, trx, params.queue_id);
      const label = await ensureLabel(trx, queue.id, body, now);
      return { label: { ...labelView(label), case_count: await countLabelled(trx, label.id) } };
    });
  },

  async updateQueueLabel(context, { params, body }) {
    return context.engine.store.transaction().execute(async (trx) => {
      const queue = await requireQueue(context, trx, params.queue_id);
      const label = await requireLabel(trx, queue.id, params.label_id);
      const key = body.key ?? label.key;
      const existingLabel = await findLabelNamed(trx, queue.id, key, body.value);
      if (existingLabel !== undefined && existingLabel.id !== label.id) {
        const name = key === '' ? body.value : `${key}=${body.value}`;
        throw new ServiceError(409, 'label_taken', `The queue already has a label "${name}" (${existingLabel.id}).`);
      }
      const changes = { key, value: body.value, color_hue: body.color_hue ?? label.color_hue };
      return { label: labelView(await updateLabelRow(trx, label.id, changes)) };
    });
  },

  async deleteQueueLabel(context, { params }) {
    await context.engine.store.transaction().execute(async (trx) => {
      const queue = await requireQueue(context, trx, params.queue_id);
      await deleteLabelRow(trx, (await requireLabel(trx, queue.id, params.label_id)).id);
    });
    return { success: true };
  },

  async listCaseLabels(context, { params, query }) {
    const { limit = 1_000, offset = 0 } = query;
    const row = await requireCase(context, context.engine.store, params.case_id, params.queue_id);
    return { labels: (await caseLabels(context.engine.store, row.id)).slice(offset, offset + limit) };
  },

  async assignCaseLabels(context, { params, body }) {
    const now = isoTime(context.engine.clock.now());
    return context.engine.store.transaction().execute(async (trx) => {
      await lockRows(trx, 'queues', [params.queue_id]);
      const row = await requireCase(context, trx, params.case_id, params.queue_id);
      const ids: string[] = [];
      for (const label of body.labels) ids.push((await ensureLabel(trx, row.queue_id, label, now)).id);
      await linkLabels(trx, row.id, ids);
      return { labels: await caseLabels(trx, row.id) };
    });
  },

  async unlinkCaseLabels(context, { params, body }) {
    await context.engine.store.transaction().execute(async (trx) => {
      await lockRows(trx, 'queues', [params.queue_id]);
      const row = await requireCase(context, trx, params.case_id, params.queue_id);
      for (const id of new Set(body.label_ids)) await requireLabel(trx, row.queue_id, id);
      await unlinkLabels(trx, row.id, body.label_ids);
    });
    return { success: true };
  },
};

const caseLabels = async (db: Queries, caseId: string) => ((await labelsOf(db, [caseId])).get(caseId) ?? []).map(labelView);

async function requireLabel(db: Queries, queueId: string, id: string): Promise<QueueLabelRow> {
  const label = await findLabel(db, queueId, id);
  if (label === undefined) throw notFound('label', id);
  return label;
}
