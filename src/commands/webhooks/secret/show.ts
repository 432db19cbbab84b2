import { defineCommand } from '../../../cli/kit/command.ts';
import { returns } from '../../../cli/kit/result.ts';
import { displaySecret, revealFlag, secretOutput } from './shown.ts';

export default defineCommand({
  summary: 'Show the signing secret',
  options: { reveal: revealFlag },
  operations: ['getTeamWebhookSecret'],
  examples: [
    { command: 'aops webhooks secret show', text: 'Show when the secret was created, and any rotation in progress' },
    { command: 'aops webhooks secret show --reveal --jq .secret > secret.txt', text: 'Save the secret to a file for the receiver' },
  ],
  result: returns('getTeamWebhookSecret'),
  output: secretOutput,
  async run(context, input) {
    const client = await context.client();
    return displaySecret(context, await client.call('getTeamWebhookSecret', { params: { teamId: context.teamId() } }), input.reveal);
  },
});
