import { defineCommand } from '../../../cli/kit/command.ts';
import { confirm } from '../../../cli/kit/confirm.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { textOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { administered } from '../administration.ts';
import { databaseOptions } from '../database-flags.ts';
import { requireTeam } from '../teams.ts';

export default defineCommand({
  summary: 'Delete a team without agents and revoke its credentials',
  arguments: { team: argument('The team, by ID or name') },
  options: databaseOptions,
  operations: ['listLocalTeams', 'deleteLocalTeam'],
  mutates: true,
  destructive: true,
  examples: [{ command: 'aops local team delete finance --yes', text: 'Delete a team without confirmation' }],
  result: returns('deleteLocalTeam', { id: 'uuid', name: 'string' }),
  output: textOutput<{ id: string; name: string; success: boolean }>(({ name }) => `Deleted ${name}.`),
  run: (caller, input) =>
    administered(caller, input, async ({ context }) => {
      const { id, name } = await requireTeam(context, input.team);
      await confirm(context, `Delete the team "${name}" and revoke its tokens and clients?`);
      const client = await context.client();
      return { id, name, ...(await client.call('deleteLocalTeam', { params: { team_id: id } })) };
    }),
});
