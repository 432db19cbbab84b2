/** The plans that a service is started with. */
import { AopsError, exitCodes } from '../../../base/errors.ts';
import type { Plan } from '../../store/access/plan.ts';
import { savePlan } from '../../store/access/plans.ts';
import { findTeam, findTeamNamed } from '../../store/access/teams.ts';
import type { Store } from '../../store/database/database.ts';

/** The plan of the service's own team, and those of other teams by name or ID. */
export interface StartupPlans {
  plan?: Plan | undefined;
  teamPlans?: ReadonlyMap<string, Plan> | undefined;
}

/** Stores the plans. Throws AopsError `team_not_found`, and then stores none of them. */
export async function savePlans(store: Store, options: StartupPlans, service: { teamId: string; now: string }): Promise<void> {
  await store.transaction().execute(async (trx) => {
    if (options.plan !== undefined) await savePlan(trx, service.teamId, options.plan, service.now);
    for (const [word, plan] of options.teamPlans ?? []) {
      const team = (await findTeamNamed(trx, word)) ?? (await findTeam(trx, word));
      if (team === undefined)
        throw new AopsError(`There is no team "${word}" to set a plan for.`, {
          code: 'team_not_found',
          exit: exitCodes.notFound,
          hint: 'Start the service without that plan, and create the team with `aops local team create`.',
        });
      await savePlan(trx, team.id, plan, service.now);
    }
  });
}
