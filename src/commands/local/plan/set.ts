import { UsageError } from '../../../base/errors.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { textOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { openAdministration, requestedDatabase } from '../administration.ts';
import { databaseOptions } from '../database-flags.ts';
import { readPlans } from '../plans.ts';

interface SetPlan {
  team: string;
  file: string;
}

export default defineCommand({
  summary: 'Set the plan of a team on a shared database',
  description:
    'The plan contains the limits and features of the team. It applies to all nodes immediately; no node has to be restarted. The team is the one specified with --team, by ID or name, or else that of the owner. For a service without a shared database, pass --plan to `aops local up` or `aops serve`.',
  arguments: { file: argument('The plan, in YAML or JSON, or - for stdin', { complete: 'files' }) },
  options: databaseOptions,
  examples: [
    {
      command: 'aops local plan set plan.yaml --team finance --database-url postgres://aops@db.example.com/aops',
      text: 'Set the plan of a team',
    },
  ],
  result: returns({ team: 'string', file: 'string' }),
  output: textOutput<SetPlan>(({ team }) => `Set the plan of the team ${team}.`),
  async run(context, { file, ...input }): Promise<SetPlan> {
    const url = requestedDatabase(context, input);
    if (url === undefined)
      throw new UsageError(
        'Plans are set on a database: pass --database-url, or set AOPS_DATABASE_URL.',
        'For a service without a shared database, pass --plan when you start it.',
      );
    const { team } = context.flags;
    const plan = (await readPlans(context, [file])).plan;
    const administration = await openAdministration(context, url);
    try {
      if (plan !== undefined) await administration.savePlan(plan, team);
      return { team: team ?? 'Local', file };
    } finally {
      await administration.close();
    }
  },
});
