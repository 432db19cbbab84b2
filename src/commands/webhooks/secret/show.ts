import { defineCommand } from '../../../cli/kit/command.ts';
import { returns } from '../../../cli/kit/result.ts';
import { revealFlag, secretOutput, shownSecret } from './shown.ts';

export default defineCommand({
  summary: 'Show the signing secret, masked unless you say --reveal',
  options: { reveal: revealFlag },
  operations: ['getTeamWebhookSecret'],
  examples: [
    { command: 'aops webhooks secret show', text: 'When it was made, and whether a rotation is going on' },
    { command: 'aops webhooks secret show --reveal --jq .secret > secret.txt', text: 'Into a file, for the receiver' },
  ],
  result: returns('getTeamWebhookSecret'),
  output: secretOutput,
  async run(context, input) {
    const client = await context.client();
    return shownSecret(context, await client.call('getTeamWebhookSecret', { params: { teamId: context.teamId() } }), input.reveal);
  },
});
