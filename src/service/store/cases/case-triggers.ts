/** Case triggers, which make agents work on queues. */
import type { Insertable, Updateable } from 'kysely';
import type { Queries } from '../database/database.ts';
import type { CaseTriggerRow, CaseTriggersTable } from '../database/schema.ts';

export type ListedTrigger = CaseTriggerRow & { queue_name: string; agent_name: string; creator_name: string | null };

/** Other agents that work on the same queue. */
export type Conflicts = { id: string; name: string }[];

/** The part of a trigger that lists of agents show. */
export interface CaseTriggerSummary {
  enabled: boolean;
  queueName: string;
  conflicts: Conflicts;
}

/** A trigger with the other agents that work on its queue. */
export interface Trigger {
  row: ListedTrigger;
  conflicts: Conflicts;
}

const listQuery = (db: Queries) =>
  db
    .selectFrom('case_triggers')
    .innerJoin('queues', 'queues.id', 'case_triggers.queue_id')
    .innerJoin('agents', 'agents.id', 'case_triggers.agent_id')
    .leftJoin('credentials', 'credentials.id', 'case_triggers.credential_id')
    .selectAll('case_triggers')
    .select(['queues.name as queue_name', 'agents.name as agent_name', 'credentials.name as creator_name']);

export async function insertTrigger(db: Queries, trigger: Insertable<CaseTriggersTable>): Promise<void> {
  await db.insertInto('case_triggers').values(trigger).execute();
}

export async function updateTriggerRow(db: Queries, id: string, changes: Updateable<CaseTriggersTable>): Promise<void> {
  await db.updateTable('case_triggers').set(changes).where('id', '=', id).execute();
}

export async function deleteTriggerRow(db: Queries, id: string): Promise<void> {
  await db.deleteFrom('case_triggers').where('id', '=', id).execute();
}

/** The trigger of an agent, if it has one. */
export async function triggerOfAgent(db: Queries, agentId: string): Promise<ListedTrigger | undefined> {
  return listQuery(db).where('case_triggers.agent_id', '=', agentId).executeTakeFirst();
}

/** The triggers of several agents, by agent. */
export async function triggersOfAgents(db: Queries, agentIds: readonly string[]): Promise<Map<string, ListedTrigger>> {
  if (agentIds.length === 0) return new Map();
  const rows = await listQuery(db)
    .where('case_triggers.agent_id', 'in', [...agentIds])
    .execute();
  return new Map(rows.map((row) => [row.agent_id, row]));
}

/** The triggers on any of these queues, enabled or not, sorted by the names of their agents. */
export async function triggersOnQueues(db: Queries, queueIds: readonly string[]): Promise<ListedTrigger[]> {
  if (queueIds.length === 0) return [];
  return listQuery(db)
    .where('case_triggers.queue_id', 'in', [...queueIds])
    .orderBy('agents.name')
    .execute();
}
