import { defineCommand } from '../../cli/kit/command.ts';
import { argument } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { WebhookDelivery } from '../../interface/types.ts';
import { deliveryRecord } from './record.ts';

export default defineCommand({
  summary: 'Deliver an event again',
  description:
    'It goes out at once, under the same webhook-id, and is tried as often as a new one. A delivery that waits for its next attempt is brought forward.',
  arguments: { delivery: argument('The id of the delivery') },
  operations: ['resendWebhookDelivery'],
  mutates: true,
  examples: [
    { command: 'aops webhooks resend DELIVERY', text: 'Once more' },
    { command: 'aops webhooks deliveries --failed --all -o id | xargs -n 1 aops webhooks resend', text: 'Everything that was given up' },
  ],
  result: returns('resendWebhookDelivery.delivery'),
  output: recordOutput<WebhookDelivery>(deliveryRecord),
  async run(context, input) {
    const client = await context.client();
    const params = { teamId: context.teamId(), deliveryId: input.delivery };
    return (await client.call('resendWebhookDelivery', { params })).delivery;
  },
});
