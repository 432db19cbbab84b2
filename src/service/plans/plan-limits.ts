/** Enforces the limits of a team's plan. The number of runs at the same time is enforced by the queue (store/runs/run-queue.ts). */
import { pluralize } from '../../base/pluralize.ts';
import { ServiceError } from '../errors.ts';
import { billingPeriod, type Plan } from '../store/access/plan.ts';
import { countAgentsOf, countRunsOf, planOf } from '../store/access/plans.ts';
import { lockTeam } from '../store/access/teams.ts';
import type { Queries } from '../store/database/database.ts';
import type { RunRow } from '../store/database/schema.ts';

/**
 * Ensures, until the transaction ends, that the team may start a run now (milliseconds). `plan` is its plan, as the transaction reads it.
 * Throws 403 `plan_limit_reached`.
 */
export async function requireRoomForRun(trx: Queries, teamId: string, plan: Plan, now: number): Promise<void> {
  const { name, limits, runCountingMode } = plan;
  if (limits.agentRuns === 'unlimited') return;
  await lockTeam(trx, teamId);
  const period = billingPeriod(now);
  if ((await countRunsOf(trx, teamId, period, runCountingMode)) < limits.agentRuns) return;
  throw limitReached(
    `The plan "${name}" allows ${pluralize(limits.agentRuns, 'run')} a month, and that limit has been reached; more can be started from ${period.end}.`,
  );
}

/** The same for an interrupted run that continues, if the plan no longer counted it. */
export async function requireRoomToResume(trx: Queries, run: RunRow, now: number): Promise<void> {
  if (run.status !== 'interrupted' || run.created_at < billingPeriod(now).start) return;
  const plan = await planOf(trx, run.team_id);
  if (plan.runCountingMode === 'succeeded') await requireRoomForRun(trx, run.team_id, plan, now);
}

/** Ensures, until the transaction ends, that the team may have another agent. Throws 403 `plan_limit_reached`. */
export async function requireRoomForAgent(trx: Queries, teamId: string): Promise<void> {
  const { name, limits } = await planOf(trx, teamId);
  if (limits.assignments === 'unlimited') return;
  await lockTeam(trx, teamId);
  if ((await countAgentsOf(trx, teamId)) < limits.assignments) return;
  throw limitReached(
    `The plan "${name}" allows ${pluralize(limits.assignments, 'agent')}, and the team already has as many; delete one first.`,
  );
}

const limitReached = (message: string): ServiceError => new ServiceError(403, 'plan_limit_reached', message);
