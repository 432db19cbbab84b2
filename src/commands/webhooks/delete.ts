import { defineCommand } from '../../cli/kit/command.ts';
import { confirm } from '../../cli/kit/confirm.ts';
import { argument } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { findWebhook } from './record.ts';

export default defineCommand({
  summary: 'Delete a webhook',
  description: 'Queued deliveries are dropped; the delivery log remains.',
  arguments: { webhook: argument('The ID of the webhook', { complete: 'webhooks' }) },
  operations: ['listTeamWebhooks', 'deleteTeamWebhook'],
  mutates: true,
  destructive: true,
  examples: [{ command: 'aops webhooks delete WEBHOOK --yes', text: 'Delete a webhook without confirmation' }],
  result: returns('deleteTeamWebhook', { id: 'uuid', url: 'url' }),
  output: textOutput<{ id: string; url: string }>(({ url }) => `Deleted the webhook to ${url}.`),
  async run(context, input) {
    const client = await context.client();
    const { id, url } = await findWebhook(context, input.webhook);
    await confirm(context, `Delete the webhook to ${url}?`);
    const answer = await client.call('deleteTeamWebhook', { params: { teamId: context.teamId(), subscriptionId: id } });
    return { id, url, ...answer };
  },
});
