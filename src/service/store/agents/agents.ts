/** Agents. Deleted agents are kept for the runs that refer to them, but are no longer found. */
import type { Updateable } from 'kysely';
import { cachedQuery } from '../database/cached.ts';
import type { Queries } from '../database/database.ts';
import { columnsOf, namesOf, preparedQuery } from '../database/prepared.ts';
import { lockIfDeciding } from '../database/row-locks.ts';
import type { AgentRow, AgentsTable } from '../database/schema.ts';
import { asStored } from '../database/stored-values.ts';

export async function insertAgent(db: Queries, agent: AgentRow): Promise<AgentRow> {
  await insertQuery.change(db, agent);
  return asStored(agent);
}

const insertQuery = preparedQuery(
  (db, agent: AgentRow, values) => db.insertInto('agents').values(columnsOf(agent, values)),
  (agent) => namesOf(agent).join(),
);

export async function findAgent(db: Queries, teamId: string, id: string): Promise<AgentRow | undefined> {
  await lockIfDeciding(db, 'agents', id);
  return byId.first(db, { teamId, id });
}

const byId = preparedQuery((db, { teamId, id }: { teamId: string; id: string }) =>
  db.selectFrom('agents').selectAll().where('id', '=', id).where('team_id', '=', teamId).where('deleted_at', 'is', null),
);

/** An agent and the configuration of its live revision, if it has one. */
export interface LiveAgent {
  id: string;
  name: string;
  live_build_id: string | null;
  config: string | null;
}

/** The maximum length of all cached configurations together, in characters. */
const maxCached = 4_000_000;

const liveQuery = cachedQuery(
  ['agents', 'builds'],
  preparedQuery((db, { teamId, id }: { teamId: string; id: string }) =>
    db
      .selectFrom('agents')
      .leftJoin('builds', 'builds.id', 'agents.live_build_id')
      .select(['agents.id', 'agents.name', 'agents.live_build_id', 'builds.config'])
      .where('agents.id', '=', id)
      .where('agents.team_id', '=', teamId)
      .where('agents.deleted_at', 'is', null),
  ),
  { maxSize: maxCached, sizeOf: ([agent]: readonly LiveAgent[]) => agent?.config?.length ?? 1 },
);

/** An agent of a team with its live revision, for transactions that start runs. The same object until an agent or a revision changes. */
export const findLiveAgent = async (trx: Queries, teamId: string, id: string): Promise<LiveAgent | undefined> =>
  (await liveQuery(trx, { teamId, id }))[0];

/** The agent with this exact name, if the team has one. */
export const findAgentNamed = (db: Queries, teamId: string, name: string): Promise<AgentRow | undefined> =>
  byName.first(db, { teamId, name });

const byName = preparedQuery((db, { teamId, name }: { teamId: string; name: string }) =>
  db.selectFrom('agents').selectAll().where('team_id', '=', teamId).where('name', '=', name).where('deleted_at', 'is', null),
);

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

/** When a run of each of the agents was last started. */
export async function lastRunTimes(db: Queries, agentIds: string[]): Promise<Map<string, string>> {
  if (agentIds.length === 0) return new Map();
  // One index lookup for each agent; grouping would read all of their runs.
  const rows = await db
    .selectFrom('agents')
    .select((select) => [
      'id',
      select
        .selectFrom('runs')
        .select((last) => last.fn.max('runs.created_at').as('last'))
        .whereRef('runs.agent_id', '=', 'agents.id')
        .as('last'),
    ])
    .where('id', 'in', agentIds)
    .execute();
  return new Map(rows.flatMap(({ id, last }) => (last === null ? [] : [[id, last]])));
}
