/** What a team's plan allows, and what has been used of it. */
import { jobKinds } from '../../engine/engine.ts';
import { billingPeriod, type Limit } from '../../plans/plan.ts';
import { countAgentsOf, countInterviewsOf, countRunsOf, planOf } from '../../store/plans.ts';
import { countExecuting } from '../../store/run-queue.ts';
import type { GroupRoutes } from '../context.ts';
import { requireTeam } from '../lookups.ts';

export const billingRoutes: GroupRoutes<'billing'> = {
  async getTeamUsage(context, { params }) {
    requireTeam(context, params.teamId);
    const { teamId, engine } = context;
    // One look at everything: figures of one moment.
    return engine.store.transaction().execute(async (trx) => {
      const { limits, maxConcurrentRuns, runCountingMode } = await planOf(trx, teamId);
      const period = billingPeriod(engine.clock.now());
      return {
        teamId,
        period,
        agentRuns: spent(await countRunsOf(trx, teamId, period, runCountingMode), limits.agentRuns),
        clarityInterviews: spent(await countInterviewsOf(trx, teamId, period), limits.clarityInterviews),
        assignments: { used: await countAgentsOf(trx, teamId), limit: limits.assignments },
        concurrency: { used: await countExecuting(trx, jobKinds.run, teamId), limit: maxConcurrentRuns },
      };
    });
  },

  async getTeamEntitlements(context, { params }) {
    requireTeam(context, params.teamId);
    const plan = await planOf(context.engine.store, context.teamId);
    return {
      plan: plan.name,
      features: [...plan.features],
      products: [...plan.products],
      runCountingMode: plan.runCountingMode,
      maxConcurrentRuns: plan.maxConcurrentRuns,
    };
  },
};

const spent = (used: number, limit: Limit) => ({
  used,
  limit,
  remaining: limit === 'unlimited' ? limit : Math.max(0, limit - used),
});
