import { defineCommand } from '../../cli/kit/command.ts';
import { argument } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { WebhookDelivery } from '../../interface/types.ts';
import { deliveryRecord } from './record.ts';

export default defineCommand({
  summary: 'Resend a webhook delivery',
  description:
    'The event is sent immediately with the same webhook-id, and retried like a new delivery. A delivery that is waiting for its next attempt is sent now.',
  arguments: { delivery: argument('The ID of the delivery') },
  operations: ['resendWebhookDelivery'],
  mutates: true,
  examples: [
    { command: 'aops webhooks resend DELIVERY', text: 'Resend a delivery' },
    { command: 'aops webhooks deliveries --failed --all -o id | xargs -n 1 aops webhooks resend', text: 'Resend all failed deliveries' },
  ],
  result: returns('resendWebhookDelivery.delivery'),
  output: recordOutput<WebhookDelivery>(deliveryRecord),
  async run(context, input) {
    const client = await context.client();
    const params = { teamId: context.teamId(), deliveryId: input.delivery };
    return (await client.call('resendWebhookDelivery', { params })).delivery;
  },
});
