/** How much of a team's plan is used. */
import { billingPeriod, type Limit } from '../store/access/plan.ts';
import { countAgentsOf, countInterviewsOf, countRunsOf, planOf } from '../store/access/plans.ts';
import type { Queries } from '../store/database/database.ts';
import { jobKinds } from '../store/jobs/kinds.ts';
import { countExecuting } from '../store/runs/run-queue.ts';

/** Call it in a transaction, so that all figures are from the same moment. */
export async function teamUsage(trx: Queries, teamId: string, now: number) {
  const { limits, maxConcurrentRuns, runCountingMode } = await planOf(trx, teamId);
  const period = billingPeriod(now);
  return {
    teamId,
    period,
    agentRuns: limitUsage(await countRunsOf(trx, teamId, period, runCountingMode), limits.agentRuns),
    clarityInterviews: limitUsage(await countInterviewsOf(trx, teamId, period), limits.clarityInterviews),
    assignments: { used: await countAgentsOf(trx, teamId), limit: limits.assignments },
    concurrency: { used: await countExecuting(trx, jobKinds.run, teamId), limit: maxConcurrentRuns },
  };
}

const limitUsage = (used: number, limit: Limit) => ({
  used,
  limit,
  remaining: limit === 'unlimited' ? limit : Math.max(0, limit - used),
});
