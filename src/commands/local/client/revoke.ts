import { defineCommand } from '../../../cli/kit/command.ts';
import { confirm } from '../../../cli/kit/confirm.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { textOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { administered } from '../administration.ts';
import { requireCredentialNamed } from '../credentials.ts';
import { databaseOptions } from '../database-flags.ts';

export default defineCommand({
  summary: 'Revoke an OAuth client',
  description: 'The client and all its access tokens stop working immediately. This cannot be undone.',
  arguments: { client: argument('The client, by ID or name') },
  options: databaseOptions,
  operations: ['listLocalClients', 'revokeLocalClient'],
  mutates: true,
  destructive: true,
  examples: [{ command: 'aops local client revoke nightly --yes', text: 'Revoke a client without confirmation' }],
  result: returns('revokeLocalClient', { id: 'uuid', name: 'string' }),
  output: textOutput<{ id: string; name: string; success: boolean }>(({ name }) => `Revoked ${name}.`),
  run: (caller, input) =>
    administered(caller, input, async ({ context }) => {
      const { id, name } = await requireCredentialNamed(context, 'client', input.client);
      await confirm(context, `Revoke the client "${name}"?`);
      const client = await context.client();
      return { id, name, ...(await client.call('revokeLocalClient', { params: { client_id: id } })) };
    }),
});
