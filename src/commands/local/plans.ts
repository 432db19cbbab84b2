/** The flag that sets the plans of teams: `--plan FILE` for the first team, `--plan TEAM=FILE` for another one. */
import path from 'node:path';
import { readText } from '../../cli/input/body.ts';
import type { Context } from '../../cli/kit/context.ts';
import { texts } from '../../cli/kit/flags.ts';
import type { ServiceOptions } from '../../service/service.ts';

export const planOptions = {
  plan: texts('[TEAM=]FILE', 'Set the plan (limits and features, YAML or JSON) of the team Local or of another team; it is stored', {
    complete: 'files',
  }),
} as const;

interface PlanFlag {
  /** Undefined for the team of the owner. */
  team: string | undefined;
  file: string;
}

function planFlag(text: string): PlanFlag {
  const [, team, file] = /^([^=/]+)=(.+)$/.exec(text) ?? [];
  return file === undefined ? { team: undefined, file: text } : { team, file };
}

/** The same flags for a service that is started in another directory. */
export const planFlags = (context: Context, plans: readonly string[]): string[] =>
  plans.map(planFlag).flatMap(({ team, file }) => ['--plan', `${team === undefined ? '' : `${team}=`}${path.resolve(context.cwd, file)}`]);

/** @throws UsageError for a file that cannot be read or is not a plan */
export async function readPlans(context: Context, plans: readonly string[]): Promise<Pick<ServiceOptions, 'plan' | 'teamPlans'>> {
  const { parsePlan } = await import('../../service/service.ts');
  const teamPlans: Map<string, ReturnType<typeof parsePlan>> = new Map();
  let own: ServiceOptions['plan'];
  for (const { team, file } of plans.map(planFlag)) {
    const plan = parsePlan(await readText(context, file), file);
    if (team === undefined) own = plan;
    else teamPlans.set(team, plan);
  }
  return { teamPlans, ...(own === undefined ? {} : { plan: own }) };
}
