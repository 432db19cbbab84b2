import { UsageError } from '../../base/errors.ts';
import { omitUndefined } from '../../base/omit-undefined.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument, flag, text, toggle } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Webhook } from '../../interface/types.ts';
import { allEvents } from '../../interface/webhook-events.ts';
import { address, descriptionOption, eventOption, formatOption, requireFormats } from './options.ts';
import { webhookRecord } from './record.ts';

export default defineCommand({
  summary: 'Change, enable, or disable a webhook',
  description:
    'Disabling a webhook drops its queued deliveries. Enabling it resets its failure count; resend missed deliveries with `aops webhooks resend`.',
  arguments: { webhook: argument('The ID of the webhook', { complete: 'webhooks' }) },
  options: {
    url: text('URL', 'New URL', address),
    event: { ...eventOption, summary: 'Send this event instead; can be repeated' },
    allEvents: flag('Send all events'),
    description: descriptionOption,
    format: formatOption,
    enabled: toggle('Whether events are sent'),
  },
  operations: ['updateTeamWebhook'],
  mutates: true,
  examples: [
    { command: 'aops webhooks update WEBHOOK --enabled', text: 'Enable a webhook again' },
    { command: 'aops webhooks update WEBHOOK --event run.failed', text: 'Send only failures' },
  ],
  result: returns('updateTeamWebhook.webhook'),
  output: recordOutput<Webhook>(webhookRecord),
  async run(context, input) {
    if (input.allEvents && input.event.length > 0) throw new UsageError('--all-events and --event cannot be combined.');
    const events = input.allEvents ? [allEvents as typeof allEvents] : input.event.length > 0 ? input.event : undefined;
    const body = omitUndefined({ url: input.url, events, description: input.description, format: input.format, enabled: input.enabled });
    if (Object.keys(body).length === 0)
      throw new UsageError(
        'There is nothing to change.',
        'Pass --url, --event, --all-events, --description, --format, --enabled, or --no-enabled.',
      );
    const client = await context.client();
    await requireFormats(context, input.format);
    const params = { teamId: context.teamId(), subscriptionId: input.webhook };
    return (await client.call('updateTeamWebhook', { params, body })).webhook;
  },
});
