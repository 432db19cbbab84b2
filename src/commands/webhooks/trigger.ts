import { crypto } from '../../base/crypto.ts';
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { isObject, type JsonObject } from '../../base/values.ts';
import { bodyFlags, bodyFromFlags } from '../../cli/input/body.ts';
import { uuid } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument, text } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import type { WebhookEventKind } from '../../interface/types.ts';
import { webhookEventKinds } from '../../interface/webhook-events.ts';
import { address } from './options.ts';
import { isEvent } from './routes.ts';
import { secretOption, teamOrOwnKeys } from './signing-secret.ts';
import { type PostedEvent, postTestEvent } from './test-event.ts';

/** What was sent: by the service, or by this command with --to. */
interface Triggered {
  event_id: string;
  deliveries?: readonly object[];
  posted?: PostedEvent;
}

export default defineCommand({
  summary: 'Send a test event to your webhooks',
  description:
    'The event contains sample data and `"test": true`. The service sends it to all enabled webhooks of the team that receive this event, or only to --webhook, and signs, logs, and retries it like a real event. With --to, this command signs the event with the secret of the team and sends it once, which works with any service and any URL that this machine can reach.\n\n--field and --raw-field change fields of the sample data, which is the `data` of the event; --input replaces it.',
  arguments: { event: argument(`The event to send: ${webhookEventKinds.join(', ')}`, { complete: 'events', check: isEvent }) },
  options: {
    webhook: text('ID', 'Send it only to this webhook, whichever events it receives', { complete: 'webhooks', check: uuid }),
    to: text('URL', 'Send it from this machine to this URL', address),
    secret: { ...secretOption, summary: `With --to: ${secretOption.summary.replace(/^R/, 'r')}` },
    rawField: { ...bodyFlags.rawField, summary: 'Set a text field of the data' },
    field: { ...bodyFlags.field, summary: 'Set a typed field of the data: true, false, null, a number, @FILE, or text' },
    input: { ...bodyFlags.input, summary: 'Use a JSON file as the data' },
  },
  operations: ['createTestWebhookEvent', 'getTeamWebhookSecret'],
  mutates: true,
  exits: [exitCodes.failure],
  examples: [
    { command: 'aops webhooks trigger run.failed', text: 'Test the webhooks that receive failures' },
    {
      command: "aops webhooks trigger human_request.created -f 'human_request[title]=Delete the index?' --webhook WEBHOOK",
      text: 'Send an event with your own text to one webhook',
    },
    {
      command: 'aops webhooks trigger run.completed --to http://127.0.0.1:3000/hook',
      text: 'Send a signed event to a program under development',
    },
  ],
  result: returns({
    event_id: 'uuid',
    deliveries: 'object[]?',
    posted: 'object?',
  }),
  output: recordOutput<Triggered>(({ event_id, deliveries, posted }) => ({
    Event: event_id,
    ...(posted === undefined ? {} : { URL: posted.url, Response: 'status' in posted ? posted.status : posted.problem }),
    ...(deliveries === undefined ? {} : { Deliveries: deliveries.length }),
  })),
  async run(context, input): Promise<Triggered> {
    const type = input.event as WebhookEventKind;
    if (input.to !== undefined && input.webhook !== undefined) throw new UsageError('--to and --webhook cannot be combined.');
    if (input.to === undefined && input.secret.length > 0)
      throw new UsageError('--secret requires --to, because the service signs with its own secret.');
    const keys = input.to === undefined ? [] : await teamOrOwnKeys(context, input.secret);
    const client = input.to === undefined ? await context.client() : undefined;
    // With a secret of one's own, neither a service nor a team is needed.
    const teamId = client === undefined ? (context.config().team_id.value ?? crypto().randomUUID()) : context.teamId();
    const { sampleEventData } = await import('../../interface/webhook-samples.ts');
    const sample = sampleEventData(type, {
      teamId,
      now: new Date(context.clock.now()).toISOString(),
      newId: () => crypto().randomUUID(),
    });
    const data = await bodyFromFlags(context, input, sample);
    if (!isObject(data)) throw new UsageError('The data of an event must be a JSON object; --input contains something else.');
    if (client === undefined) return post(context, { type, teamId, data: data as JsonObject, url: input.to as string, keys });
    const body = { type, data, ...(input.webhook === undefined ? {} : { subscription_id: input.webhook }) };
    return client.call('createTestWebhookEvent', { params: { teamId }, body });
  },
});

async function post(context: Parameters<typeof postTestEvent>[0], event: Parameters<typeof postTestEvent>[1]): Promise<Triggered> {
  const { eventId, posted } = await postTestEvent(context, event);
  const result = { event_id: eventId, posted };
  if ('status' in posted && posted.status >= 200 && posted.status < 300) return result;
  const outcome = 'status' in posted ? `responded with ${posted.status}` : `did not respond: ${posted.problem}`;
  const failure = new AopsError(`${posted.url} ${outcome}.`, {
    code: 'test_event_failed',
    exit: exitCodes.failure,
    hint: 'A receiver accepts a delivery with any 2xx status.',
  });
  throw new ResultError(failure, result);
}
