import { defineCommand } from '../../cli/kit/command.ts';
import { argument } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Webhook } from '../../interface/types.ts';
import { address, descriptionOption, eventOption } from './options.ts';
import { webhookRecord } from './record.ts';

export default defineCommand({
  summary: 'Send events to a URL',
  description:
    'Each event is a POST with a JSON body, signed as Standard Webhooks 1.0 has it. Deliveries come at least once and in no order: look at webhook-id to tell repeats. Where a local service may deliver to is said when it is started, with --allow-webhook-host; one that `aops local up` started delivers to this machine.',
  arguments: { url: argument('Where to send events', address) },
  options: { event: eventOption, description: descriptionOption },
  operations: ['createTeamWebhook'],
  mutates: true,
  examples: [
    { command: 'aops webhooks create http://127.0.0.1:8080/hook', text: 'Everything' },
    {
      command: 'aops webhooks create https://example.com/hook --event run.failed --event human_request.created',
      text: 'What somebody has to look at',
    },
  ],
  result: returns('createTeamWebhook.webhook'),
  output: recordOutput<Webhook>(webhookRecord),
  async run(context, { url, event, description }) {
    const client = await context.client();
    const body = { url, ...(event.length === 0 ? {} : { events: event }), ...(description === undefined ? {} : { description }) };
    return (await client.call('createTeamWebhook', { params: { teamId: context.teamId() }, body })).webhook;
  },
});
