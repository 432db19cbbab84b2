/** Queues. A queue is deleted with everything in it. */
import type { Insertable, Updateable } from 'kysely';
import type { Queries } from '../database/database.ts';
import { lockIfDeciding } from '../database/row-locks.ts';
import type { QueueRow, QueuesTable } from '../database/schema.ts';

export async function insertQueue(db: Queries, queue: Insertable<QueuesTable>): Promise<QueueRow> {
  return db.insertInto('queues').values(queue).returningAll().executeTakeFirstOrThrow();
}

export async function findQueue(db: Queries, teamId: string, id: string): Promise<QueueRow | undefined> {
  await lockIfDeciding(db, 'queues', id);
  return db.selectFrom('queues').selectAll().where('id', '=', id).where('team_id', '=', teamId).executeTakeFirst();
}

/** The queue with this exact name, if the team has one. */
export async function findQueueNamed(db: Queries, teamId: string, name: string): Promise<QueueRow | undefined> {
  return db.selectFrom('queues').selectAll().where('team_id', '=', teamId).where('name', '=', name).executeTakeFirst();
}

export async function updateQueueRow(db: Queries, id: string, changes: Updateable<QueuesTable>): Promise<QueueRow> {
  return db.updateTable('queues').set(changes).where('id', '=', id).returningAll().executeTakeFirstOrThrow();
}

/** Deletes an empty queue with its labels. */
export async function deleteQueueRow(db: Queries, id: string): Promise<void> {
  await db.deleteFrom('queue_labels').where('queue_id', '=', id).execute();
  await db.deleteFrom('queues').where('id', '=', id).execute();
}

/** Oldest first. */
export async function listQueueRows(
  db: Queries,
  filter: { teamId: string; automationId: string | undefined; limit: number; offset: number },
): Promise<{ rows: QueueRow[]; total: number }> {
  let query = db.selectFrom('queues').where('team_id', '=', filter.teamId);
  if (filter.automationId !== undefined) query = query.where('automation_id', '=', filter.automationId);
  const rows = await query.selectAll().orderBy('created_at').orderBy('id').limit(filter.limit).offset(filter.offset).execute();
  const { total } = await query.select((select) => select.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
  return { rows, total: Number(total) };
}
