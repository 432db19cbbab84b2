import { defineCommand } from '../../../cli/kit/command.ts';
import { confirm } from '../../../cli/kit/confirm.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { textOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { requireCredentialNamed } from '../credentials.ts';

export default defineCommand({
  summary: 'Revoke a token at once',
  description: 'Programs that use it are refused from then on. It cannot be taken back.',
  arguments: { token: argument('The token, by id or name') },
  operations: ['listLocalTokens', 'revokeLocalToken'],
  mutates: true,
  destructive: true,
  examples: [{ command: 'aops local token revoke nightly --yes', text: 'In a script' }],
  result: returns('revokeLocalToken', { id: 'uuid', name: 'string' }),
  output: textOutput<{ id: string; name: string; success: boolean }>(({ name }) => `Revoked ${name}.`),
  async run(context, input) {
    const { id, name } = await requireCredentialNamed(context, 'token', input.token);
    await confirm(context, `Revoke the token "${name}"?`);
    const client = await context.client();
    return { id, name, ...(await client.call('revokeLocalToken', { params: { token_id: id } })) };
  },
});
