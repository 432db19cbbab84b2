import { defineCommand } from '../../cli/kit/command.ts';
import { argument } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Webhook } from '../../interface/types.ts';
import { address, descriptionOption, eventOption } from './options.ts';
import { webhookRecord } from './record.ts';

export default defineCommand({
  summary: 'Create a webhook that sends events to a URL',
  description:
    'Each event is a POST request with a JSON body, signed according to Standard Webhooks 1.0. Deliveries arrive at least once and in any order; use webhook-id to detect repeats. A service started with `aops local up` delivers only to this machine; allow other hosts with --allow-webhook-host when you start it.',
  arguments: { url: argument('The URL to send events to', address) },
  options: { event: eventOption, description: descriptionOption },
  operations: ['createTeamWebhook'],
  mutates: true,
  examples: [
    { command: 'aops webhooks create http://127.0.0.1:8080/hook', text: 'Send all events' },
    {
      command: 'aops webhooks create https://example.com/hook --event run.failed --event human_request.created',
      text: 'Send only events that need attention',
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
