import { defineCommand } from '../../../cli/kit/command.ts';
import { recordOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import type { LocalCredential } from '../../../interface/types.ts';
import { administered } from '../administration.ts';
import { credentialArguments, credentialOptions, credentialRecord, newCredential } from '../credentials.ts';
import { databaseOptions } from '../database-flags.ts';
import { type Delivery, deliver, deliveryOptions } from '../secret-delivery.ts';

/** `token` is present only with --reveal. */
type CreatedToken = LocalCredential & Delivery & { token?: string };

export default defineCommand({
  summary: 'Create a token',
  description:
    'The token is shown only once: choose where it goes with --save-profile, --to, or --reveal. It belongs to the team specified with --team, by ID or name, or else to the team of the owner. Without --scope, it has full access to that team.',
  arguments: credentialArguments,
  options: { ...credentialOptions, ...deliveryOptions, ...databaseOptions },
  operations: ['listLocalTeams', 'createLocalToken'],
  mutates: true,
  examples: [
    {
      command: 'aops local token create dashboard --scope runs:read --save-profile dashboard',
      text: 'Create a profile that can only read runs',
    },
    {
      command: 'aops local token create ci --scope runs:read,runs:write --expires 90d --to ci.key',
      text: 'Save a key that expires after 90 days to a file',
    },
    { command: 'TOKEN=$(aops local token create job --reveal --jq .token)', text: 'Create a token in a script' },
  ],
  result: returns('createLocalToken.token', { token: 'string?', profile: 'string?', file: 'string?' }),
  output: recordOutput<CreatedToken>((token) => ({
    ...credentialRecord(token),
    Token: token.token,
    Profile: token.profile,
    File: token.file,
  })),
  run: (caller, input) =>
    administered<CreatedToken>(caller, input, async ({ context, serviceUrl }) => {
      const issuedCredential = await deliver(context, input, async () => {
        const baseUrl = input.saveProfile === undefined ? '' : await serviceUrl();
        const client = await context.client();
        const { token, secret } = await client.call('createLocalToken', { body: await newCredential(context, input) });
        const credential = { type: 'token', token: secret } as const;
        return { row: token, secret, revoke: `aops local token revoke ${token.id}`, teamId: token.team_id, credential, baseUrl };
      });
      return { ...issuedCredential.row, ...issuedCredential.delivery, ...(input.reveal ? { token: issuedCredential.secret } : {}) };
    }),
});
