import { defineCommand } from '../../../cli/kit/command.ts';
import { listFlags } from '../../../cli/kit/list.ts';
import { returns } from '../../../cli/kit/result.ts';
import { administered } from '../administration.ts';
import { credentialListOutput, listCredentials } from '../credentials.ts';
import { databaseOptions } from '../database-flags.ts';

export default defineCommand({
  summary: 'List the tokens of all teams, or of one with --team',
  options: { ...listFlags, ...databaseOptions },
  operations: ['listLocalTeams', 'listLocalTokens'],
  examples: [
    { command: 'aops local token list', text: 'List all tokens' },
    { command: 'aops local token list --team finance --all -o id', text: 'Print the IDs of the tokens of one team' },
  ],
  result: returns('listLocalTokens.tokens[]', { team: 'string' }),
  output: credentialListOutput('There are no tokens. Create one with `aops local token create NAME`.'),
  run: (caller, input) => administered(caller, input, ({ context }) => listCredentials(context, 'token', input)),
});
