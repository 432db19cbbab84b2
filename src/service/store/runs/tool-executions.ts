/** Tool calls of runs, with the screenshots before and after them. */
import type { Insertable } from 'kysely';
import type { Queries } from '../database/database.ts';
import { lockRows } from '../database/row-locks.ts';
import type { ToolExecutionRow, ToolExecutionsTable } from '../database/schema.ts';

/** Records an execution as the run's next, unless the run's turn already contains its event. Call it in a transaction. */
export async function insertToolExecution(db: Queries, execution: Omit<Insertable<ToolExecutionsTable>, 'seq'>): Promise<void> {
  await lockRows(db, 'runs', [execution.run_id]);
  const { last } = await db
    .selectFrom('tool_executions')
    .select((select) => select.fn.max('seq').as('last'))
    .where('run_id', '=', execution.run_id)
    .executeTakeFirstOrThrow();
  await db
    .insertInto('tool_executions')
    .values({ ...execution, seq: Number(last ?? 0) + 1 })
    .onConflict((conflict) => conflict.columns(['run_id', 'turn', 'event_id']).doNothing())
    .execute();
}

/** In the order in which they happened. */
export async function listToolExecutions(db: Queries, runId: string): Promise<ToolExecutionRow[]> {
  return db.selectFrom('tool_executions').selectAll().where('run_id', '=', runId).orderBy('seq').execute();
}

export async function hasToolExecutions(db: Queries, runId: string): Promise<boolean> {
  return (await db.selectFrom('tool_executions').select('id').where('run_id', '=', runId).limit(1).executeTakeFirst()) !== undefined;
}
