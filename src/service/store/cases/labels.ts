/** Labels of queues, and the cases that have them. */
import type { Insertable, Updateable } from 'kysely';
import type { Queries } from '../database/database.ts';
import type { QueueLabelRow, QueueLabelsTable } from '../database/schema.ts';
import { inChunks } from './cases.ts';

export async function insertLabel(db: Queries, label: Insertable<QueueLabelsTable>): Promise<QueueLabelRow> {
  return db.insertInto('queue_labels').values(label).returningAll().executeTakeFirstOrThrow();
}

export async function findLabel(db: Queries, queueId: string, id: string): Promise<QueueLabelRow | undefined> {
  return db.selectFrom('queue_labels').selectAll().where('id', '=', id).where('queue_id', '=', queueId).executeTakeFirst();
}

export async function findLabelNamed(db: Queries, queueId: string, key: string, value: string): Promise<QueueLabelRow | undefined> {
  return db
    .selectFrom('queue_labels')
    .selectAll()
    .where('queue_id', '=', queueId)
    .where('key', '=', key)
    .where('value', '=', value)
    .executeTakeFirst();
}

export async function updateLabelRow(db: Queries, id: string, changes: Updateable<QueueLabelsTable>): Promise<QueueLabelRow> {
  return db.updateTable('queue_labels').set(changes).where('id', '=', id).returningAll().executeTakeFirstOrThrow();
}

export async function deleteLabelRow(db: Queries, id: string): Promise<void> {
  await db.deleteFrom('case_labels').where('label_id', '=', id).execute();
  await db.deleteFrom('queue_labels').where('id', '=', id).execute();
}

export type CountedLabel = QueueLabelRow & { case_count: number };

/** Sorted by key and value. */
export async function listLabelRows(db: Queries, queueId: string, page: { limit: number; offset: number }): Promise<CountedLabel[]> {
  const rows = await db
    .selectFrom('queue_labels')
    .selectAll('queue_labels')
    .select((select) =>
      select
        .selectFrom('case_labels')
        .select((count) => count.fn.countAll<number>().as('count'))
        .whereRef('case_labels.label_id', '=', 'queue_labels.id')
        .as('case_count'),
    )
    .where('queue_id', '=', queueId)
    .orderBy('key')
    .orderBy('value')
    .limit(page.limit)
    .offset(page.offset)
    .execute();
  return rows.map((row) => ({ ...row, case_count: Number(row.case_count) }));
}

export async function countLabelled(db: Queries, labelId: string): Promise<number> {
  const { total } = await db
    .selectFrom('case_labels')
    .select((select) => select.fn.countAll<number>().as('total'))
    .where('label_id', '=', labelId)
    .executeTakeFirstOrThrow();
  return Number(total);
}

/** Adds labels to a case. */
export async function linkLabels(db: Queries, caseId: string, labelIds: readonly string[]): Promise<void> {
  for (const chunk of inChunks([...new Set(labelIds)])) {
    await db
      .insertInto('case_labels')
      .values(chunk.map((label_id) => ({ case_id: caseId, label_id })))
      .onConflict((conflict) => conflict.columns(['case_id', 'label_id']).doNothing())
      .execute();
  }
}

export async function unlinkLabels(db: Queries, caseId: string, labelIds: readonly string[]): Promise<void> {
  for (const chunk of inChunks(labelIds)) {
    await db.deleteFrom('case_labels').where('case_id', '=', caseId).where('label_id', 'in', chunk).execute();
  }
}

/** The labels of each of the cases, sorted by key and value. */
export async function labelsOf(db: Queries, caseIds: readonly string[]): Promise<Map<string, QueueLabelRow[]>> {
  const labels = new Map<string, QueueLabelRow[]>();
  for (const chunk of inChunks(caseIds)) {
    const rows = await db
      .selectFrom('case_labels')
      .innerJoin('queue_labels', 'queue_labels.id', 'case_labels.label_id')
      .selectAll('queue_labels')
      .select('case_labels.case_id as case_id')
      .where('case_labels.case_id', 'in', chunk)
      .orderBy('queue_labels.key')
      .orderBy('queue_labels.value')
      .execute();
    for (const { case_id, ...label } of rows) labels.set(case_id, [...(labels.get(case_id) ?? []), label]);
  }
  return labels;
}
