/** Evaluation rubrics of agents. Deleted rubrics are kept, but are no longer found. */
import type { Insertable, Updateable } from 'kysely';
import type { Queries } from '../database/database.ts';
import { preparedQuery } from '../database/prepared.ts';
import type { RubricRow, RubricsTable, RunRow } from '../database/schema.ts';

/** What the rubrics belong to: an agent, or one of its revisions. */
export interface RubricScope {
  agentId: string;
  /** Empty for the whole agent. */
  buildId: string;
}

export async function insertRubric(db: Queries, rubric: Insertable<RubricsTable>): Promise<RubricRow> {
  return db.insertInto('rubrics').values(rubric).returningAll().executeTakeFirstOrThrow();
}

/** Sorted by position. */
export async function listRubrics(db: Queries, { agentId, buildId }: RubricScope): Promise<RubricRow[]> {
  return listQuery.all(db, { agentId, buildId });
}

const listQuery = preparedQuery((db, { agentId, buildId }: RubricScope) =>
  db
    .selectFrom('rubrics')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('build_id', '=', buildId)
    .where('deleted_at', 'is', null)
    .orderBy('sort_order')
    .orderBy('created_at')
    .orderBy('id'),
);

/** Finds a rubric for the runs of a revision, if there is one. */
export const anyRubric = (db: Queries, { agent_id, build_id }: Pick<RunRow, 'agent_id' | 'build_id'>) =>
  db
    .selectFrom('rubrics')
    .select('id')
    .where('agent_id', '=', agent_id)
    .where((where) => where.or([where('build_id', '=', ''), where('build_id', '=', build_id)]))
    .where('deleted_at', 'is', null);

export async function findRubric(db: Queries, agentId: string, id: string): Promise<RubricRow | undefined> {
  return db
    .selectFrom('rubrics')
    .selectAll()
    .where('id', '=', id)
    .where('agent_id', '=', agentId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
}

export async function updateRubricRow(db: Queries, id: string, changes: Updateable<RubricsTable>): Promise<RubricRow> {
  return db.updateTable('rubrics').set(changes).where('id', '=', id).returningAll().executeTakeFirstOrThrow();
}
