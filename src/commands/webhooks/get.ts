import type { Webhook } from '../../interface/types.ts';
import { argument, defineCommand } from '../define.ts';
import { recordOutput } from '../output.ts';
import { returns } from '../result.ts';
import { findWebhook, webhookRecord } from './record.ts';

export default defineCommand({
  summary: 'Show a webhook, and why it was disabled if it was',
  arguments: { webhook: argument('The id of the webhook', { complete: 'webhooks' }) },
  operations: ['listTeamWebhooks'],
  examples: [{ command: 'aops webhooks get WEBHOOK', text: 'How it does' }],
  result: returns('createTeamWebhook.webhook'),
  output: recordOutput<Webhook>(webhookRecord),
  run: (context, input) => findWebhook(context, input.webhook),
});
