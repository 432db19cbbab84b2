/** The journal: which steps of a run's turn have completed, and with what result. */
import type { Queries } from './database.ts';

export interface StepKey {
  runId: string;
  turn: number;
  step: string;
}

/** Records a completed step. A step that is there already keeps its first result. */
export async function recordStep(db: Queries, key: StepKey, result: unknown, now: string): Promise<void> {
  await db
    .insertInto('journal')
    // A step without a result has completed all the same; JSON has no undefined.
    .values({ run_id: key.runId, turn: key.turn, step: key.step, result: JSON.stringify(result ?? null), created_at: now })
    .onConflict((conflict) => conflict.columns(['run_id', 'turn', 'step']).doNothing())
    .execute();
}

export async function completedSteps(db: Queries, runId: string, turn: number): Promise<Map<string, unknown>> {
  const rows = await db.selectFrom('journal').select(['step', 'result']).where('run_id', '=', runId).where('turn', '=', turn).execute();
  return new Map(rows.map((row) => [row.step, JSON.parse(row.result) as unknown]));
}

export async function countCompletedSteps(db: Queries, runId: string, turn: number): Promise<number> {
  const { total } = await db
    .selectFrom('journal')
    .select((select) => select.fn.countAll<number>().as('total'))
    .where('run_id', '=', runId)
    .where('turn', '=', turn)
    .executeTakeFirstOrThrow();
  return Number(total);
}
