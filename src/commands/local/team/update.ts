import { length } from '../../../cli/kit/checks.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { argument, requiredText } from '../../../cli/kit/flags.ts';
import { recordOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import type { LocalTeam } from '../../../interface/types.ts';
import { requireTeam, teamRecord } from '../teams.ts';

export default defineCommand({
  summary: 'Rename a team',
  arguments: { team: argument('The team, by ID or name') },
  options: { name: requiredText('NAME', 'New name', { check: length(1, 100) }) },
  operations: ['listLocalTeams', 'updateLocalTeam'],
  mutates: true,
  examples: [{ command: 'aops local team update finance --name accounting', text: 'Rename a team; its ID does not change' }],
  result: returns('updateLocalTeam.team'),
  output: recordOutput<LocalTeam>(teamRecord),
  async run(context, input) {
    const { id } = await requireTeam(context, input.team);
    const client = await context.client();
    return (await client.call('updateLocalTeam', { params: { team_id: id }, body: { name: input.name } })).team;
  },
});
