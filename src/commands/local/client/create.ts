import { defineCommand } from '../../../cli/kit/command.ts';
import { recordOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import type { LocalCredential } from '../../../interface/types.ts';
import { administered } from '../administration.ts';
import { credentialArguments, credentialOptions, credentialRecord, newCredential } from '../credentials.ts';
import { databaseOptions } from '../database-flags.ts';
import { type Delivery, deliver, deliveryOptions } from '../secret-delivery.ts';

/** `client_secret` is present only with --reveal. */
type CreatedClient = LocalCredential & Delivery & { client_id: string; token_url: string; client_secret?: string };

export default defineCommand({
  summary: 'Create an OAuth client',
  description:
    'The client secret is shown only once: choose where it goes with --save-profile, --to, or --reveal. Access tokens are valid for an hour and have the scopes of the client, or fewer if fewer are requested.',
  arguments: credentialArguments,
  options: { ...credentialOptions, ...deliveryOptions, ...databaseOptions },
  operations: ['listLocalTeams', 'createLocalClient'],
  mutates: true,
  examples: [
    {
      command: 'aops local client create nightly --scope runs:write --save-profile nightly',
      text: 'Create a client and sign in with it on this machine',
    },
    { command: 'aops local client create nightly --scope runs:write --to nightly.secret', text: 'Create a client for a program elsewhere' },
  ],
  result: returns('createLocalClient.client', {
    client_id: 'uuid',
    token_url: 'url',
    client_secret: 'string?',
    profile: 'string?',
    file: 'string?',
  }),
  output: recordOutput<CreatedClient>((client) => {
    const { ID, ...record } = credentialRecord(client);
    return {
      'Client ID': ID,
      ...record,
      'Token URL': client.token_url,
      'Client secret': client.client_secret,
      Profile: client.profile,
      File: client.file,
    };
  }),
  run: (caller, input) =>
    administered<CreatedClient>(caller, input, async ({ context, serviceUrl }) => {
      const issuedCredential = await deliver(context, input, async () => {
        // The URL of the token endpoint is part of the result.
        const baseUrl = await serviceUrl();
        const service = await context.client();
        const { client, secret, token_url } = await service.call('createLocalClient', { body: await newCredential(context, input) });
        const credential = { type: 'client_credentials', client_id: client.id, client_secret: secret, token_url } as const;
        return { row: client, secret, revoke: `aops local client revoke ${client.id}`, teamId: client.team_id, credential, baseUrl };
      });
      const { client_id, token_url } = issuedCredential.credential;
      return {
        ...issuedCredential.row,
        client_id,
        token_url,
        ...issuedCredential.delivery,
        ...(input.reveal ? { client_secret: issuedCredential.secret } : {}),
      };
    }),
});
