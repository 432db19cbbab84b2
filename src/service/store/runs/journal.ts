/** The journal: the completed steps of a run's turn, and their results. */
import type { Queries } from '../database/database.ts';
import { preparedQuery } from '../database/prepared.ts';

export interface StepKey {
  runId: string;
  turn: number;
  step: string;
}

/** Records a completed step. A step that was recorded already keeps its first result. */
export async function recordStep(db: Queries, key: StepKey, result: unknown, now: string): Promise<void> {
  // A step without a result has completed too, but JSON has no undefined.
  await recordQuery.send(db, { ...key, result: JSON.stringify(result ?? null), now });
}

const recordQuery = preparedQuery((db, { runId, turn, step, result, now }: StepKey & { result: string; now: string }) =>
  db
    .insertInto('journal')
    .values({ run_id: runId, turn, step, result, created_at: now })
    .onConflict((conflict) => conflict.columns(['run_id', 'turn', 'step']).doNothing()),
);

const ofTurn = preparedQuery((db, { runId, turn }: { runId: string; turn: number }) =>
  db.selectFrom('journal').select(['step', 'result']).where('run_id', '=', runId).where('turn', '=', turn),
);

export async function completedSteps(db: Queries, runId: string, turn: number): Promise<Map<string, unknown>> {
  const rows = await ofTurn.all(db, { runId, turn });
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
