/** Removing runs that ended long ago, with everything that is theirs. */
import { billingPeriod } from '../access/plan.ts';
import type { Queries } from '../database/database.ts';
import type { RunRow } from '../database/schema.ts';
import { addToTotals } from './run-totals.ts';
import { terminalStatuses } from './runs.ts';

/** What belongs to a run alone, those that refer to others first. */
export const runTables = [
  'tool_executions',
  'run_files',
  'messages',
  'journal',
  'request_events',
  'human_requests',
  'evaluations',
  'run_connections',
] as const;

/** Ids of up to `limit` runs that ended at that time (ISO 8601) or before. One that a case is tied to stays. */
export async function endedRuns(db: Queries, before: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('runs')
    .select('id')
    .where('completed_at', '<=', before)
    .where('status', 'in', [...terminalStatuses])
    .where((where) =>
      where.not(where.exists(where.selectFrom('cases').select('cases.id').whereRef('cases.claimed_by_run_id', '=', 'runs.id'))),
    )
    .orderBy('completed_at')
    .limit(limit)
    .execute();
  return rows.map((row) => row.id);
}

/** When the first run ended that has not been removed; ISO 8601. */
export async function firstRunEnd(db: Queries): Promise<string | undefined> {
  const row = await db
    .selectFrom('runs')
    .select('completed_at')
    .where('completed_at', 'is not', null)
    .orderBy('completed_at')
    .limit(1)
    .executeTakeFirst();
  return row?.completed_at ?? undefined;
}

/**
 * Removes those of the runs that have still ended at that time or before, with what belongs to them and their jobs of those kinds, in
 * the caller's transaction.
 * Returns them, and the sandboxes that are nobody's now: their rows are gone.
 */
export async function removeRuns(
  trx: Queries,
  ids: readonly string[],
  { before, jobKinds }: { before: string; jobKinds: readonly string[] },
): Promise<{ runs: RunRow[]; sandboxIds: string[] }> {
  const runs = await trx
    .selectFrom('runs')
    .selectAll()
    .where('id', 'in', [...ids])
    .where('completed_at', '<=', before)
    .where('status', 'in', [...terminalStatuses])
    .execute();
  if (runs.length === 0) return { runs, sandboxIds: [] };
  const gone = runs.map((run) => run.id);
  for (const table of runTables) await trx.deleteFrom(table).where('run_id', 'in', gone).execute();
  await trx
    .deleteFrom('jobs')
    .where('kind', 'in', [...jobKinds])
    .where('subject_id', 'in', gone)
    .execute();
  await trx.deleteFrom('runs').where('id', 'in', gone).execute();
  for (const run of runs) await remember(trx, run);
  return { runs, sandboxIds: await removeUnusedSandboxes(trx, [...new Set(runs.map((run) => run.sandbox_id))]) };
}

/** What outlives a run: its number is not given again, and its month has had it. */
async function remember(trx: Queries, run: RunRow): Promise<void> {
  await addToTotals(trx, run, -1);
  await trx
    .updateTable('teams')
    .set({ last_removed_run: run.run_number })
    .where('id', '=', run.team_id)
    .where('last_removed_run', '<', run.run_number)
    .execute();
  const period = billingPeriod(Date.parse(run.created_at)).start;
  await trx
    .insertInto('removed_runs')
    .values({ team_id: run.team_id, period, status: run.status, runs: 1 })
    .onConflict((conflict) =>
      conflict.columns(['team_id', 'period', 'status']).doUpdateSet((set) => ({ runs: set('removed_runs.runs', '+', 1) })),
    )
    .execute();
}

async function removeUnusedSandboxes(trx: Queries, ids: readonly string[]): Promise<string[]> {
  const rows = await trx
    .deleteFrom('sandboxes')
    .where('id', 'in', [...ids])
    // One that is staged has an end of its own.
    .where('expires_at', 'is', null)
    .where((where) => where.not(where.exists(where.selectFrom('runs').select('runs.id').whereRef('runs.sandbox_id', '=', 'sandboxes.id'))))
    .returning('id')
    .execute();
  return rows.map((row) => row.id);
}
