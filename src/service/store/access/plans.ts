/** Plans of teams, and their usage. */

import { cachedQuery } from '../database/cached.ts';
import type { Queries } from '../database/database.ts';
import { preparedQuery } from '../database/prepared.ts';
import type { PlanRow } from '../database/schema.ts';
import { defaultPlan, type Limit, type Period, type Plan, type RunCountingMode } from './plan.ts';

export async function savePlan(db: Queries, teamId: string, plan: Plan, now: string): Promise<void> {
  const row = {
    name: plan.name,
    agent_runs: storedLimit(plan.limits.agentRuns),
    assignments: storedLimit(plan.limits.assignments),
    clarity_interviews: storedLimit(plan.limits.clarityInterviews),
    max_concurrent_runs: plan.maxConcurrentRuns,
    run_counting_mode: plan.runCountingMode,
    features: plan.features === defaultPlan.features ? null : JSON.stringify(plan.features),
    products: plan.products === defaultPlan.products ? null : JSON.stringify(plan.products),
    updated_at: now,
  };
  await db
    .insertInto('plans')
    .values({ team_id: teamId, ...row })
    .onConflict((conflict) => conflict.column('team_id').doUpdateSet(row))
    .execute();
}

/** The team's plan, or the default plan. */
export async function planOf(db: Queries, teamId: string): Promise<Plan> {
  const [row] = await rowsOfTeam(db, { teamId });
  return row === undefined ? defaultPlan : planFrom(row);
}

const rowsOfTeam = cachedQuery(
  ['plans'],
  preparedQuery((db, { teamId }: { teamId: string }) => db.selectFrom('plans').selectAll().where('team_id', '=', teamId)),
);

/** How many runs a single team may execute at the same time, at most. */
export async function largestConcurrency(db: Queries): Promise<number> {
  const { highest } = await db
    .selectFrom('plans')
    .select((select) => select.fn.max('max_concurrent_runs').as('highest'))
    .executeTakeFirstOrThrow();
  return Math.max(defaultPlan.maxConcurrentRuns, Number(highest));
}

/** Runs of the period that count, including removed ones. */
export async function countRunsOf(db: Queries, teamId: string, period: Period, mode: RunCountingMode): Promise<number> {
  let query = db
    .selectFrom('runs')
    .select((select) => select.fn.countAll().as('count'))
    .where('team_id', '=', teamId)
    .where('created_at', '>=', period.start)
    .where('created_at', '<', period.end);
  let removedRuns = db
    .selectFrom('removed_runs')
    .select((select) => select.fn.sum<number | null>('runs').as('count'))
    .where('team_id', '=', teamId)
    .where('period', '=', period.start);
  if (mode === 'succeeded') {
    query = query.where('status', 'not in', ['failed', 'interrupted']);
    removedRuns = removedRuns.where('status', 'not in', ['failed', 'interrupted']);
  }
  return Number((await query.executeTakeFirstOrThrow()).count) + Number((await removedRuns.executeTakeFirstOrThrow()).count ?? 0);
}

/** Builder runs of the period that asked a question. */
export async function countInterviewsOf(db: Queries, teamId: string, period: Period): Promise<number> {
  const { count } = await db
    .selectFrom('builder_runs')
    .innerJoin('agents', 'agents.id', 'builder_runs.agent_id')
    .select((select) => select.fn.countAll().as('count'))
    .where('agents.team_id', '=', teamId)
    .where('builder_runs.created_at', '>=', period.start)
    .where('builder_runs.created_at', '<', period.end)
    // It contains questions until they are answered, and then the answers.
    .where((where) => where.or([where('builder_runs.questions', 'is not', null), where('builder_runs.answers', '!=', '{}')]))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Agents that exist now. */
export async function countAgentsOf(db: Queries, teamId: string): Promise<number> {
  const { count } = await db
    .selectFrom('agents')
    .select((select) => select.fn.countAll().as('count'))
    .where('team_id', '=', teamId)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(count);
}

const storedLimit = (limit: Limit): number | null => (limit === 'unlimited' ? null : limit);
const limitOf = (limit: number | null): Limit => limit ?? 'unlimited';

const planFrom = (row: PlanRow): Plan => ({
  name: row.name,
  limits: { agentRuns: limitOf(row.agent_runs), assignments: limitOf(row.assignments), clarityInterviews: limitOf(row.clarity_interviews) },
  maxConcurrentRuns: row.max_concurrent_runs,
  runCountingMode: row.run_counting_mode as RunCountingMode,
  features: row.features === null ? defaultPlan.features : (JSON.parse(row.features) as string[]),
  products: row.products === null ? defaultPlan.products : (JSON.parse(row.products) as string[]),
});
