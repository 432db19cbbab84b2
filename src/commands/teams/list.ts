import { defineCommand } from '../../cli/kit/command.ts';
import { listFlags, rowList } from '../../cli/kit/list.ts';
import { column, idColumn, listOutput, timeColumn } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Team } from '../../interface/types.ts';

export default defineCommand({
  summary: 'List the teams that your credential can use',
  description: 'Act on one of them with --team ID, or save it in a profile with `aops auth login`. A service might not offer this list.',
  options: listFlags,
  operations: ['listTeams'],
  examples: [{ command: 'aops teams list', text: 'List your teams' }],
  result: returns('listTeams.teams[]'),
  output: listOutput<Team>({
    columns: [
      idColumn((team) => team.id),
      column('NAME', (team) => team.name, { shrink: true }),
      timeColumn('CREATED', (team) => team.created_at),
    ],
    empty: 'Your credential cannot use any team.',
  }),
  async run(context, input) {
    const client = await context.client();
    return rowList(input, async (limit, offset) => {
      const page = await client.call('listTeams', { query: { limit, offset } });
      return { items: page.teams, total: page.total };
    });
  },
});
