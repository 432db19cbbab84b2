import { defineCommand } from '../../../cli/kit/command.ts';
import { confirm } from '../../../cli/kit/confirm.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { textOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { administered } from '../administration.ts';
import { requireCredentialNamed } from '../credentials.ts';
import { databaseOptions } from '../database-flags.ts';

export default defineCommand({
  summary: 'Revoke a token',
  description: 'The token stops working immediately. This cannot be undone.',
  arguments: { token: argument('The token, by ID or name') },
  options: databaseOptions,
  operations: ['listLocalTokens', 'revokeLocalToken'],
  mutates: true,
  destructive: true,
  examples: [{ command: 'aops local token revoke nightly --yes', text: 'Revoke a token without confirmation' }],
  result: returns('revokeLocalToken', { id: 'uuid', name: 'string' }),
  output: textOutput<{ id: string; name: string; success: boolean }>(({ name }) => `Revoked ${name}.`),
  run: (caller, input) =>
    administered(caller, input, async ({ context }) => {
      const { id, name } = await requireCredentialNamed(context, 'token', input.token);
      await confirm(context, `Revoke the token "${name}"?`);
      const client = await context.client();
      return { id, name, ...(await client.call('revokeLocalToken', { params: { token_id: id } })) };
    }),
});
