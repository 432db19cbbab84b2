import { length } from '../../../cli/kit/checks.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { recordOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import type { LocalTeam } from '../../../interface/types.ts';
import { teamRecord } from '../teams.ts';

export default defineCommand({
  summary: 'Create a team',
  description:
    'Nothing of one team is seen by another: agents, runs, files, webhooks. Make a token of it with `aops local token create --team NAME`.',
  arguments: { name: argument('Its name, which no other team has', { check: length(1, 100) }) },
  operations: ['createLocalTeam'],
  mutates: true,
  examples: [{ command: 'aops local team create finance', text: 'A team of its own for finance' }],
  result: returns('createLocalTeam.team'),
  output: recordOutput<LocalTeam>(teamRecord),
  async run(context, input) {
    const client = await context.client();
    return (await client.call('createLocalTeam', { body: { name: input.name } })).team;
  },
});
