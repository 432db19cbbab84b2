import { UsageError } from '../../base/errors.ts';
import { omitUndefined } from '../../base/omit-undefined.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument, flag, text, toggle } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Webhook } from '../../interface/types.ts';
import { allEvents } from '../../interface/webhook-events.ts';
import { address, descriptionOption, eventOption } from './options.ts';
import { webhookRecord } from './record.ts';

export default defineCommand({
  summary: 'Change, disable or enable a webhook',
  description:
    'Disabling drops what is queued for it. Enabling begins with a clean record; what was missed is sent again with `aops webhooks resend`.',
  arguments: { webhook: argument('The id of the webhook', { complete: 'webhooks' }) },
  options: {
    url: text('URL', 'Send events here', address),
    event: { ...eventOption, summary: 'Tell of this kind of event instead; may be repeated' },
    allEvents: flag('Tell of all kinds of events'),
    description: descriptionOption,
    enabled: toggle('Whether anything is sent'),
  },
  operations: ['updateTeamWebhook'],
  mutates: true,
  examples: [
    { command: 'aops webhooks update WEBHOOK --enabled', text: 'Try again one that was disabled' },
    { command: 'aops webhooks update WEBHOOK --event run.failed', text: 'Only failures from now on' },
  ],
  result: returns('updateTeamWebhook.webhook'),
  output: recordOutput<Webhook>(webhookRecord),
  async run(context, input) {
    if (input.allEvents && input.event.length > 0) throw new UsageError('--all-events and --event exclude each other.');
    const events = input.allEvents ? [allEvents as typeof allEvents] : input.event.length > 0 ? input.event : undefined;
    const body = omitUndefined({ url: input.url, events, description: input.description, enabled: input.enabled });
    if (Object.keys(body).length === 0)
      throw new UsageError('There is nothing to change.', 'Give --url, --event, --all-events, --description, --enabled or --no-enabled.');
    const client = await context.client();
    const params = { teamId: context.teamId(), subscriptionId: input.webhook };
    return (await client.call('updateTeamWebhook', { params, body })).webhook;
  },
});
