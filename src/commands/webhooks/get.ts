import { defineCommand } from '../../cli/kit/command.ts';
import { argument } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Webhook } from '../../interface/types.ts';
import { findWebhook, webhookRecord } from './record.ts';

export default defineCommand({
  summary: 'Show a webhook',
  arguments: { webhook: argument('The ID of the webhook', { complete: 'webhooks' }) },
  operations: ['listTeamWebhooks'],
  examples: [{ command: 'aops webhooks get WEBHOOK', text: 'Show a webhook and its status' }],
  result: returns('createTeamWebhook.webhook'),
  output: recordOutput<Webhook>(webhookRecord),
  run: (context, input) => findWebhook(context, input.webhook),
});
