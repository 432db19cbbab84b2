/** Removes runs that ended long ago, with everything that belongs to them. */
import { billingPeriod } from '../access/plan.ts';
import type { Queries } from '../database/database.ts';
import { isShared, lockRows } from '../database/row-locks.ts';
import type { RunRow } from '../database/schema.ts';
import { runFileKey } from './run-files.ts';
import { addToTotals } from './run-totals.ts';
import { terminalStatuses } from './runs.ts';

/** The tables whose rows belong to one run; tables with references to others come first. */
export const runTables = [
  'tool_executions',
  'run_files',
  'messages',
  'agent_sessions',
  'journal',
  'request_events',
  'human_requests',
  'evaluations',
  'run_connections',
] as const;

/** The IDs of up to `limit` runs that ended at this time (ISO 8601) or before. A run that a case refers to is not removed. */
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

/** When the first of the remaining runs ended; ISO 8601. */
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
 * Removes the runs that are still ended at this time, with their rows in other tables and their jobs of these kinds, in the caller's
 * transaction. Returns them, the keys of their files, and the sandboxes that no run uses any more, whose rows are removed too.
 */
export async function removeRuns(
  trx: Queries,
  ids: readonly string[],
  { before, jobKinds }: { before: string; jobKinds: readonly string[] },
): Promise<{ runs: RunRow[]; fileKeys: string[]; sandboxIds: string[] }> {
  await lockWithTeams(trx, ids);
  const runs = await trx
    .selectFrom('runs')
    .selectAll()
    .where('id', 'in', [...ids])
    .where('completed_at', '<=', before)
    .where('status', 'in', [...terminalStatuses])
    .execute();
  const runIds = runs.map((run) => run.id);
  const files = await trx.selectFrom('run_files').select(['id', 'run_id']).where('run_id', 'in', runIds).execute();
  for (const table of runTables) await trx.deleteFrom(table).where('run_id', 'in', runIds).execute();
  await trx
    .deleteFrom('jobs')
    .where('kind', 'in', [...jobKinds])
    .where('subject_id', 'in', runIds)
    .execute();
  await trx.deleteFrom('runs').where('id', 'in', runIds).execute();
  for (const run of runs) await remember(trx, run);
  const sandboxIds = await removeUnusedSandboxes(trx, [...new Set(runs.map((run) => run.sandbox_id))]);
  return { runs, fileKeys: files.map(runFileKey), sandboxIds };
}

/** The teams first, as whoever continues a run does (row-locks.ts). */
async function lockWithTeams(trx: Queries, runIds: readonly string[]): Promise<void> {
  if (!isShared(trx)) return;
  const rows = await trx
    .selectFrom('runs')
    .select('team_id')
    .distinct()
    .where('id', 'in', [...runIds])
    .execute();
  await lockRows(
    trx,
    'teams',
    rows.map(({ team_id }) => team_id),
  );
  await lockRows(trx, 'runs', runIds);
}

/** What remains of a run: its number is not used again, and it still counts in its month. */
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
    // A staged sandbox expires by itself.
    .where('expires_at', 'is', null)
    .where((where) => where.not(where.exists(where.selectFrom('runs').select('runs.id').whereRef('runs.sandbox_id', '=', 'sandboxes.id'))))
    .returning('id')
    .execute();
  return rows.map((row) => row.id);
}
