/** Agents. Deleted ones stay for the runs that name them, and are found no more. */
import type { Insertable, Updateable } from 'kysely';
import type { Queries } from './database.ts';
import type { AgentRow, AgentsTable } from './schema.ts';

export async function insertAgent(db: Queries, agent: Insertable<AgentsTable>): Promise<AgentRow> {
  return db.insertInto('agents').values(agent).returningAll().executeTakeFirstOrThrow();
}

export async function findAgent(db: Queries, teamId: string, id: string): Promise<AgentRow | undefined> {
  return db
    .selectFrom('agents')
    .selectAll()
    .where('id', '=', id)
    .where('team_id', '=', teamId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
}

/** The agent of that exact name, if the team has one. */
export async function findAgentNamed(db: Queries, teamId: string, name: string): Promise<AgentRow | undefined> {
  return db
    .selectFrom('agents')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('name', '=', name)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
}

export async function updateAgentRow(db: Queries, id: string, changes: Updateable<AgentsTable>): Promise<AgentRow> {
  return db.updateTable('agents').set(changes).where('id', '=', id).returningAll().executeTakeFirstOrThrow();
}

/** Newest first. */
export async function listAgentRows(
  db: Queries,
  filter: { teamId: string; automationId: string | undefined; limit: number; offset: number },
): Promise<{ rows: AgentRow[]; total: number }> {
  let query = db.selectFrom('agents').where('team_id', '=', filter.teamId).where('deleted_at', 'is', null);
  if (filter.automationId !== undefined) query = query.where('automation_id', '=', filter.automationId);
  const rows = await query
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(filter.limit)
    .offset(filter.offset)
    .execute();
  const { total } = await query.select((select) => select.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
  return { rows, total: Number(total) };
}

/** When each of the agents last had a run started. */
export async function lastRunTimes(db: Queries, agentIds: string[]): Promise<Map<string, string>> {
  if (agentIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('runs')
    .select((select) => ['agent_id', select.fn.max('created_at').as('last')])
    .where('agent_id', 'in', agentIds)
    .groupBy('agent_id')
    .execute();
  return new Map(rows.map((row) => [row.agent_id, row.last]));
}
