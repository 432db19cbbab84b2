import { defineCommand } from '../../../cli/kit/command.ts';
import { recordOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import type { LocalCredential } from '../../../interface/types.ts';
import { credentialArguments, credentialOptions, credentialRecord, newCredential } from '../credentials.ts';
import { type Delivered, deliver, deliveryOptions } from '../secret-delivery.ts';

/** `token` is there with --reveal alone. */
type CreatedToken = LocalCredential & Delivered & { token?: string };

export default defineCommand({
  summary: 'Create a token for a program or a person',
  description:
    'The token is shown only once: choose where it goes with --save-profile, --to or --reveal. It is of the team given with --team, by id or name, or else of the team of the owner. Without --scope it may do everything in that team.',
  arguments: credentialArguments,
  options: { ...credentialOptions, ...deliveryOptions },
  operations: ['listLocalTeams', 'createLocalToken'],
  mutates: true,
  examples: [
    {
      command: 'aops local token create dashboard --scope runs:read --save-profile dashboard',
      text: 'A profile that can only read runs',
    },
    {
      command: 'aops local token create ci --scope runs:read,runs:write --expires 90d --to ci.key',
      text: 'A key in a file, for 90 days',
    },
    { command: 'TOKEN=$(aops local token create job --reveal --jq .token)', text: 'In a script' },
  ],
  result: returns('createLocalToken.token', { token: 'string?', profile: 'string?', file: 'string?' }),
  output: recordOutput<CreatedToken>((created) => ({
    ...credentialRecord(created),
    Token: created.token,
    Profile: created.profile,
    File: created.file,
  })),
  async run(context, input): Promise<CreatedToken> {
    const issued = await deliver(context, input, async () => {
      const client = await context.client();
      const { token, secret } = await client.call('createLocalToken', { body: await newCredential(context, input) });
      const credential = { type: 'token', token: secret } as const;
      return { row: token, secret, revoke: `aops local token revoke ${token.id}`, teamId: token.team_id, credential };
    });
    return { ...issued.row, ...issued.delivered, ...(input.reveal ? { token: issued.secret } : {}) };
  },
});
