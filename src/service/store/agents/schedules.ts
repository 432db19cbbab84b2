/** Schedules of agents. */
import type { Insertable, Updateable } from 'kysely';
import type { Queries } from '../database/database.ts';
import { lockIfDeciding } from '../database/row-locks.ts';
import type { ScheduleRow, SchedulesTable } from '../database/schema.ts';

/** A schedule with the name of the credential that created it. */
export type ListedSchedule = ScheduleRow & { user_name: string };

export async function insertSchedule(db: Queries, schedule: Insertable<SchedulesTable>): Promise<void> {
  await db.insertInto('schedules').values(schedule).execute();
}

/** The schedule, if it belongs to the agent. */
export async function findSchedule(db: Queries, agentId: string, id: string): Promise<ListedSchedule | undefined> {
  await lockIfDeciding(db, 'schedules', id);
  return listQuery(db).where('schedules.id', '=', id).where('schedules.agent_id', '=', agentId).executeTakeFirst();
}

export async function scheduleById(db: Queries, id: string): Promise<ScheduleRow | undefined> {
  await lockIfDeciding(db, 'schedules', id);
  return db.selectFrom('schedules').selectAll().where('id', '=', id).executeTakeFirst();
}

/** The ID of the team that has a schedule. */
export async function teamOfSchedule(db: Queries, id: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('schedules')
    .innerJoin('agents', 'agents.id', 'schedules.agent_id')
    .select('agents.team_id')
    .where('schedules.id', '=', id)
    .executeTakeFirst();
  return row?.team_id;
}

/** The schedules of several agents, by agent, oldest first. */
export async function schedulesOf(db: Queries, agentIds: string[]): Promise<Map<string, ListedSchedule[]>> {
  const byAgent = new Map<string, ListedSchedule[]>();
  if (agentIds.length === 0) return byAgent;
  const rows = await listQuery(db)
    .where('schedules.agent_id', 'in', agentIds)
    .orderBy('schedules.created_at')
    .orderBy('schedules.id')
    .execute();
  for (const row of rows) byAgent.set(row.agent_id, [...(byAgent.get(row.agent_id) ?? []), row]);
  return byAgent;
}

export async function updateScheduleRow(db: Queries, id: string, changes: Updateable<SchedulesTable>): Promise<void> {
  await db.updateTable('schedules').set(changes).where('id', '=', id).execute();
}

/** Removes the schedules of an agent, or one of them, and returns the IDs of the removed ones. */
export async function deleteSchedules(db: Queries, agentId: string, id?: string): Promise<string[]> {
  let query = db.deleteFrom('schedules').where('agent_id', '=', agentId);
  if (id !== undefined) query = query.where('id', '=', id);
  return (await query.returning('id').execute()).map((row) => row.id);
}

const listQuery = (db: Queries) =>
  db
    .selectFrom('schedules')
    .innerJoin('credentials', 'credentials.id', 'schedules.credential_id')
    .selectAll('schedules')
    .select('credentials.name as user_name');
