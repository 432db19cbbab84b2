/** Evaluations of runs. A run has one as soon as it has ended for the first time. */
import type { Insertable } from 'kysely';
import type { Queries } from '../database/database.ts';
import type { EvaluationRow, EvaluationsTable } from '../database/schema.ts';

const emptyResult = { passed: 0, total: 0, critical: 0, medium: 0, low: 0, issues: 0, comment: null, results: '[]' } as const;

/** Marks the run as being evaluated, and removes previous results. */
export async function beginEvaluation(db: Queries, runId: string, now: string): Promise<void> {
  const initialValues = { ...emptyResult, status: 'in_progress', updated_at: now } as const;
  await db
    .insertInto('evaluations')
    .values({ run_id: runId, ...initialValues, created_at: now })
    .onConflict((conflict) => conflict.column('run_id').doUpdateSet(initialValues))
    .execute();
}

/** The same for a run that was evaluated before; other runs are not changed. */
export async function reopenEvaluation(db: Queries, runId: string, now: string): Promise<void> {
  await db
    .updateTable('evaluations')
    .set({ ...emptyResult, status: 'in_progress', updated_at: now })
    .where('run_id', '=', runId)
    .execute();
}

export async function saveEvaluation(
  db: Queries,
  runId: string,
  evaluation: Omit<Insertable<EvaluationsTable>, 'run_id' | 'created_at'>,
): Promise<void> {
  await db.updateTable('evaluations').set(evaluation).where('run_id', '=', runId).execute();
}

export async function findEvaluation(db: Queries, runId: string): Promise<EvaluationRow | undefined> {
  return db.selectFrom('evaluations').selectAll().where('run_id', '=', runId).executeTakeFirst();
}

/** An evaluation without the results of each rubric. */
export type ListedEvaluation = Omit<EvaluationRow, 'results' | 'issues'>;

/** The evaluations of several runs, by run. */
export async function evaluationsOf(db: Queries, runIds: readonly string[]): Promise<Map<string, ListedEvaluation>> {
  if (runIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('evaluations')
    .select(['run_id', 'status', 'passed', 'total', 'critical', 'medium', 'low', 'comment', 'created_at', 'updated_at'])
    .where('run_id', 'in', [...runIds])
    .execute();
  return new Map(rows.map((row) => [row.run_id, row]));
}
