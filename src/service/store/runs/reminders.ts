/** When reminders of pending human requests are due. */
import { sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import type { HumanRequestRow } from '../database/schema.ts';
import { noteRequestChange } from './request-events.ts';

/** The pending requests of a team for which a reminder is due, those that have been due for longest first. */
export const dueReminders = (db: Queries, teamId: string, now: number, limit: number): Promise<HumanRequestRow[]> =>
  planned(db, teamId).where('human_requests.remind_at', '<=', now).limit(limit).execute();

/** When the next reminder of a team is due, in milliseconds since the epoch. */
export async function nextReminder(db: Queries, teamId: string): Promise<number | undefined> {
  const row = await planned(db, teamId).limit(1).executeTakeFirst();
  return row === undefined ? undefined : Number(row.remind_at);
}

/** All pending requests of a team. */
export const pendingOfTeam = (db: Queries, teamId: string): Promise<HumanRequestRow[]> => pending(db, teamId).execute();

export async function planReminderAt(trx: Queries, requestId: string, remindAt: number | null): Promise<void> {
  await trx.updateTable('human_requests').set({ remind_at: remindAt }).where('id', '=', requestId).execute();
}

/** Records a reminder, and when the next one is due. Call it in a transaction. */
export async function recordReminder(
  trx: Queries,
  { id, run_id }: Pick<HumanRequestRow, 'id' | 'run_id'>,
  { at, nextAt }: { at: string; nextAt: number },
): Promise<HumanRequestRow> {
  const row = await trx
    .updateTable('human_requests')
    .set((set) => ({ reminders: set('reminders', '+', 1), reminded_at: at, remind_at: nextAt }))
    .where('id', '=', id)
    // Wakes the event streams of the run.
    .where('run_id', '=', run_id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await noteRequestChange(trx, row, 'reminded');
  return row;
}

// The literal status selects the index of pending requests in SQLite.
const pending = (db: Queries, teamId: string) =>
  db
    .selectFrom('human_requests')
    .innerJoin('runs', 'runs.id', 'human_requests.run_id')
    .selectAll('human_requests')
    .where(sql<boolean>`human_requests.status = 'pending'`)
    .where('runs.team_id', '=', teamId);

const planned = (db: Queries, teamId: string) =>
  pending(db, teamId).where('human_requests.remind_at', 'is not', null).orderBy('human_requests.remind_at');
