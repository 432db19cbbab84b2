/** Evaluations of runs. A run has one as soon as it has ended for the first time. */
import type { Insertable } from 'kysely';
import type { Queries } from '../database/database.ts';
import { preparedQuery } from '../database/prepared.ts';
import type { EvaluationRow, EvaluationsTable } from '../database/schema.ts';

const emptyResult = { passed: 0, total: 0, critical: 0, medium: 0, low: 0, issues: 0, comment: null, results: '[]' } as const;

/** Marks the run as being evaluated, and removes previous results. */
export const beginEvaluation = (db: Queries, runId: string, now: string): Promise<void> =>
  putEvaluation(db, { run_id: runId, ...emptyResult, status: 'in_progress', updated_at: now });

/** The same for a run that was evaluated before; other runs are not changed. */
export async function reopenEvaluation(db: Queries, runId: string, now: string): Promise<void> {
  await db
    .updateTable('evaluations')
    .set({ ...emptyResult, status: 'in_progress', updated_at: now })
    .where('run_id', '=', runId)
    .execute();
}

/** Stores the evaluation of a run, whether it has been evaluated before or not. */
export async function putEvaluation(db: Queries, evaluation: NewEvaluation): Promise<void> {
  await putQuery.send(db, evaluation);
}

type NewEvaluation = Omit<EvaluationRow, 'created_at'>;

const putQuery = preparedQuery((db, row: NewEvaluation) =>
  db
    .insertInto('evaluations')
    .values({
      run_id: row.run_id,
      status: row.status,
      passed: row.passed,
      total: row.total,
      critical: row.critical,
      medium: row.medium,
      low: row.low,
      issues: row.issues,
      comment: row.comment,
      results: row.results,
      updated_at: row.updated_at,
      created_at: row.updated_at,
    })
    .onConflict((conflict) =>
      conflict.column('run_id').doUpdateSet((set) => ({
        status: set.ref('excluded.status'),
        passed: set.ref('excluded.passed'),
        total: set.ref('excluded.total'),
        critical: set.ref('excluded.critical'),
        medium: set.ref('excluded.medium'),
        low: set.ref('excluded.low'),
        issues: set.ref('excluded.issues'),
        comment: set.ref('excluded.comment'),
        results: set.ref('excluded.results'),
        updated_at: set.ref('excluded.updated_at'),
      })),
    ),
);

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
