/** What the plan of a team allows, and how much of it has been used. */

import type { GroupRoutes } from '../http/context.ts';
import { teamUsage } from '../plans/usage.ts';
import { planOf } from '../store/access/plans.ts';
import { requireTeam } from './shared/lookups.ts';

export const billingRoutes: GroupRoutes<'billing'> = {
  async getTeamUsage(context, { params }) {
    requireTeam(context, params.teamId);
    const { teamId, engine } = context;
    return engine.store.transaction().execute((trx) => teamUsage(trx, teamId, engine.clock.now()));
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
