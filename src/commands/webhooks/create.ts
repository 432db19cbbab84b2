import { omitUndefined } from '../../base/omit-undefined.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Webhook } from '../../interface/types.ts';
import { address, descriptionOption, eventOption, formatOption, requireFormats } from './options.ts';
import { webhookRecord } from './record.ts';

export default defineCommand({
  summary: 'Create a webhook that sends events to a URL',
  description:
    'Each event is a POST request with a JSON body, signed according to Standard Webhooks 1.0. Deliveries arrive at least once and in any order; use webhook-id to detect repeats. With --format slack or teams, the body is a message for an incoming webhook of Slack, or for a workflow of Microsoft Teams, with a link that opens the run on the team page; the link does not sign its reader in. A service started with `aops local up` delivers only to this machine; allow other hosts with --allow-webhook-host when you start it.',
  arguments: { url: argument('The URL to send events to', address) },
  options: {
    event: { ...eventOption, summary: 'Event to send; can be repeated (default: all events, or what needs attention for slack and teams)' },
    description: descriptionOption,
    format: formatOption,
  },
  operations: ['createTeamWebhook'],
  mutates: true,
  examples: [
    { command: 'aops webhooks create http://127.0.0.1:8080/hook', text: 'Send all events' },
    {
      command: 'aops webhooks create https://example.com/hook --event run.failed --event human_request.created',
      text: 'Send only events that need attention',
    },
    { command: 'aops webhooks create https://hooks.slack.com/services/T0/B0/KEY --format slack', text: 'Write to a Slack channel' },
  ],
  result: returns('createTeamWebhook.webhook'),
  output: recordOutput<Webhook>(webhookRecord),
  async run(context, { url, event, description, format }) {
    const client = await context.client();
    await requireFormats(context, format);
    const optional = omitUndefined({ events: event.length === 0 ? undefined : event, description, format });
    const body = { url, ...optional };
    return (await client.call('createTeamWebhook', { params: { teamId: context.teamId() }, body })).webhook;
  },
});
