import { defineCommand } from '../../../cli/kit/command.ts';
import { listFlags } from '../../../cli/kit/list.ts';
import { returns } from '../../../cli/kit/result.ts';
import { administered } from '../administration.ts';
import { credentialListOutput, listCredentials } from '../credentials.ts';
import { databaseOptions } from '../database-flags.ts';

export default defineCommand({
  summary: 'List the OAuth clients of all teams, or of one with --team',
  options: { ...listFlags, ...databaseOptions },
  operations: ['listLocalTeams', 'listLocalClients'],
  examples: [
    { command: 'aops local client list', text: 'List all OAuth clients' },
    { command: 'aops local client list --team finance --all -o id', text: 'Print the IDs of the clients of one team' },
  ],
  result: returns('listLocalClients.clients[]', { team: 'string' }),
  output: credentialListOutput('There are no OAuth clients. Create one with `aops local client create NAME`.'),
  run: (caller, input) => administered(caller, input, ({ context }) => listCredentials(context, 'client', input)),
});
