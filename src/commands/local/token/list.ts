import { defineCommand } from '../../../cli/kit/command.ts';
import { listFlags } from '../../../cli/kit/list.ts';
import { returns } from '../../../cli/kit/result.ts';
import { credentialListOutput, listCredentials } from '../credentials.ts';

export default defineCommand({
  summary: 'List the tokens of all teams, or of one with --team',
  options: listFlags,
  operations: ['listLocalTeams', 'listLocalTokens'],
  examples: [
    { command: 'aops local token list', text: 'List all tokens' },
    { command: 'aops local token list --team finance --all -o id', text: 'Print the IDs of the tokens of one team' },
  ],
  result: returns('listLocalTokens.tokens[]', { team: 'string' }),
  output: credentialListOutput('There are no tokens. Create one with `aops local token create NAME`.'),
  run: (context, input) => listCredentials(context, 'token', input),
});
