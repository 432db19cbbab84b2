/** Builder runs. A revision has at most one that is active. */
import type { Insertable, Updateable } from 'kysely';
import type { BuilderRunStatus } from '../../../interface/types.ts';
import type { Queries } from '../database/database.ts';
import { lockIfDeciding } from '../database/row-locks.ts';
import type { BuilderRunRow, BuilderRunsTable } from '../database/schema.ts';

/** Statuses of a builder run that has not ended. */
export const activeBuilderStatuses = ['running', 'waiting_for_input', 'waiting_for_approve'] as const;

/** Inserts a builder run with the revision's next number. Call it in a transaction. */
export async function insertBuilderRun(db: Queries, run: Omit<Insertable<BuilderRunsTable>, 'number'>): Promise<BuilderRunRow> {
  const latestRun = await latestBuilderRun(db, run.build_id);
  return db
    .insertInto('builder_runs')
    .values({ ...run, number: (latestRun?.number ?? 0) + 1 })
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function latestBuilderRun(db: Queries, buildId: string): Promise<BuilderRunRow | undefined> {
  const query = db.selectFrom('builder_runs').where('build_id', '=', buildId).orderBy('number', 'desc').limit(1);
  if (!db.isTransaction) return query.selectAll().executeTakeFirst();
  const { id } = (await query.select('id').executeTakeFirst()) ?? {};
  return id === undefined ? undefined : builderRunById(db, id);
}

/** The active builder run of a revision. */
export async function activeBuilderRun(db: Queries, buildId: string): Promise<BuilderRunRow | undefined> {
  return db
    .selectFrom('builder_runs')
    .selectAll()
    .where('build_id', '=', buildId)
    .where('status', 'in', [...activeBuilderStatuses])
    .executeTakeFirst();
}

/** A builder run of an agent of the team, unless the agent has been deleted. */
export async function findBuilderRun(db: Queries, teamId: string, id: string): Promise<BuilderRunRow | undefined> {
  await lockIfDeciding(db, 'builder_runs', id);
  return db
    .selectFrom('builder_runs')
    .innerJoin('agents', 'agents.id', 'builder_runs.agent_id')
    .selectAll('builder_runs')
    .where('builder_runs.id', '=', id)
    .where('agents.team_id', '=', teamId)
    .where('agents.deleted_at', 'is', null)
    .executeTakeFirst();
}

export async function builderRunById(db: Queries, id: string): Promise<BuilderRunRow | undefined> {
  await lockIfDeciding(db, 'builder_runs', id);
  return db.selectFrom('builder_runs').selectAll().where('id', '=', id).executeTakeFirst();
}

/** Changes a builder run that has one of the statuses; undefined if it has a different one. */
export async function changeBuilderRun(
  db: Queries,
  id: string,
  from: readonly BuilderRunStatus[],
  changes: Updateable<BuilderRunsTable>,
): Promise<BuilderRunRow | undefined> {
  return db
    .updateTable('builder_runs')
    .set(changes)
    .where('id', '=', id)
    .where('status', 'in', [...from])
    .returningAll()
    .executeTakeFirst();
}

/** Removes the builder runs of an agent, and returns their IDs. */
export async function deleteBuilderRuns(db: Queries, agentId: string): Promise<string[]> {
  const rows = await db.deleteFrom('builder_runs').where('agent_id', '=', agentId).returning('id').execute();
  return rows.map(({ id }) => id);
}
