import { defineCommand } from '../../../cli/kit/command.ts';
import { listFlags, rowList } from '../../../cli/kit/list.ts';
import { column, idColumn, listOutput, timeColumn } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import type { LocalTeam } from '../../../interface/types.ts';
import { administered } from '../administration.ts';
import { databaseOptions } from '../database-flags.ts';

export default defineCommand({
  summary: 'List teams',
  options: { ...listFlags, ...databaseOptions },
  operations: ['listLocalTeams'],
  examples: [{ command: 'aops local team list', text: 'List the teams of the local service' }],
  result: returns('listLocalTeams.teams[]'),
  output: listOutput<LocalTeam>({
    columns: [
      idColumn((team) => team.id),
      column('NAME', (team) => team.name, { shrink: true }),
      column('OWN', (team) => (team.own ? 'yes' : '')),
      timeColumn('CREATED', (team) => team.created_at),
    ],
    empty: 'There are no teams.',
  }),
  run: (caller, input) =>
    administered(caller, input, async ({ context }) => {
      const client = await context.client();
      return rowList(input, async (limit, offset) => {
        const page = await client.call('listLocalTeams', { query: { limit, offset } });
        return { items: page.teams, total: page.total };
      });
    }),
});
