/** Evaluation rubrics of agents. Deleted rubrics are kept, but are no longer found. */
import type { Insertable, Updateable } from 'kysely';
import type { Queries } from '../database/database.ts';
import type { RubricRow, RubricsTable } from '../database/schema.ts';

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
  return db
    .selectFrom('rubrics')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('build_id', '=', buildId)
    .where('deleted_at', 'is', null)
    .orderBy('sort_order')
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

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
