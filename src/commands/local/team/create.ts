import { length } from '../../../cli/kit/checks.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { recordOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import type { LocalTeam } from '../../../interface/types.ts';
import { administered } from '../administration.ts';
import { databaseOptions } from '../database-flags.ts';
import { teamRecord } from '../teams.ts';

export default defineCommand({
  summary: 'Create a team',
  description:
    'Teams are isolated: they cannot see the agents, runs, files, or webhooks of other teams. Create a token for a team with `aops local token create --team NAME`.',
  arguments: { name: argument('The name of the team, which must be unique', { check: length(1, 100) }) },
  options: databaseOptions,
  operations: ['createLocalTeam'],
  mutates: true,
  examples: [{ command: 'aops local team create finance', text: 'Create a team' }],
  result: returns('createLocalTeam.team'),
  output: recordOutput<LocalTeam>(teamRecord),
  run: (caller, input) =>
    administered(caller, input, async ({ context }) => {
      const client = await context.client();
      return (await client.call('createLocalTeam', { body: { name: input.name } })).team;
    }),
});
