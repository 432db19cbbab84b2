import { defineCommand } from '../../cli/kit/command.ts';
import { argument } from '../../cli/kit/flags.ts';
import { column, documentOutput, recordFields, timeColumn } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { WebhookAttempt, WebhookDeliveryDetail } from '../../interface/types.ts';
import type { View } from '../../terminal/cell.ts';
import { renderRecord } from '../../terminal/record.ts';
import { renderTable } from '../../terminal/table.ts';
import { deliveryRecord } from './record.ts';

const attemptColumns = [
  column('#', (attempt: WebhookAttempt) => attempt.number, { align: 'right' }),
  timeColumn('TIME', (attempt: WebhookAttempt) => attempt.started_at),
  column('STATUS', (attempt: WebhookAttempt) => attempt.status_code, { align: 'right' }),
  column('MS', (attempt: WebhookAttempt) => attempt.duration_ms, { align: 'right' }),
  column('PROBLEM', (attempt: WebhookAttempt) => attempt.error, { shrink: true }),
  column('RESPONSE', (attempt: WebhookAttempt) => attempt.response_body, { shrink: true }),
];

export default defineCommand({
  summary: 'Show a webhook delivery with its attempts and payload',
  arguments: { delivery: argument('The ID of the delivery') },
  operations: ['getWebhookDelivery'],
  examples: [
    { command: 'aops webhooks delivery DELIVERY', text: 'Show the request and the responses' },
    { command: 'aops webhooks delivery DELIVERY --jq .payload', text: 'Print the payload' },
  ],
  result: returns('getWebhookDelivery.delivery'),
  output: documentOutput<WebhookDeliveryDetail>(async (delivery, view: View) => {
    const record = await renderRecord(recordFields(deliveryRecord(delivery)), view);
    const attempts = await renderTable(delivery.attempts, attemptColumns, view);
    const payload = `${JSON.stringify(delivery.payload, null, 2)}\n`;
    return [record, attempts, payload].filter((part) => part !== '').join('\n');
  }),
  async run(context, input) {
    const client = await context.client();
    const params = { teamId: context.teamId(), deliveryId: input.delivery };
    return (await client.call('getWebhookDelivery', { params })).delivery;
  },
});
