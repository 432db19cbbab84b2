import { once } from 'node:events';
import { steadyTime } from '../../base/clock.ts';
import { AopsError, exitCodes } from '../../base/errors.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { choice, flag, integer, text, texts } from '../../cli/kit/flags.ts';
import { Forwarder } from '../../client/webhooks/forward.ts';
import { type ReceivedDelivery, receiveWebhooks } from '../../client/webhooks/receiver.ts';
import { webhookEventKinds } from '../../interface/webhook-events.ts';
import { type Envelope, EventSequence } from '../../watch/envelope.ts';
import { address, eventOption } from './options.ts';
import { deliveryLine, deliveryObject, type ForwardResult, kindOf } from './received.ts';
import { isRoute, targetsOf } from './routes.ts';
import { secretOption, teamOrOwnKeys } from './signing-secret.ts';
import { temporaryWebhook } from './temporary-webhook.ts';

export default defineCommand({
  summary: 'Receive and print webhook deliveries on this machine',
  description:
    'Each delivery is verified before it is printed; deliveries with an invalid signature are rejected with status 400. --subscribe creates a webhook that exists as long as the command runs. With --forward-to and --route, each delivery is sent on with its headers, including the signature, and an unchanged body; the sender gets the response, and repeats what failed. With only --route, other events are printed and accepted. The default secret is that of the team; with --secret, no service is needed. --json prints one JSON object per line, including the original body.',
  options: {
    port: integer('N', 'Listen on this port of 127.0.0.1 (default: a free port)', { minimum: 0, maximum: 65_535 }),
    subscribe: flag('Create a temporary webhook for this command'),
    event: { ...eventOption, summary: 'With --subscribe: event to send; can be repeated (default: all events)' },
    secret: secretOption,
    forwardTo: text('URL', 'Forward deliveries to this URL and return its response', address),
    route: texts('EVENT=URL', 'Forward deliveries of this event to this URL instead; can be repeated', { check: isRoute }),
    until: choice(webhookEventKinds, 'End after the first event of this type; limit the wait with --timeout', { metavar: 'EVENT' }),
  },
  operations: ['getTeamWebhookSecret', 'createTeamWebhook', 'deleteTeamWebhook'],
  mutates: true,
  exits: [exitCodes.timeout],
  examples: [
    { command: 'aops webhooks listen --subscribe', text: 'Print all events until Ctrl-C' },
    {
      command: 'aops webhooks listen --subscribe --forward-to http://127.0.0.1:3000/hook',
      text: 'Forward events to a program under development',
    },
    {
      command:
        'aops webhooks listen --subscribe --route run.failed=http://127.0.0.1:3000/failed --route human_request.created=http://127.0.0.1:3000/ask',
      text: 'Send each event to its own handler',
    },
    { command: 'aops webhooks listen --port 8080 --until run.completed --timeout 5m --json', text: 'Wait for an event in a script' },
  ],
  async run(context, input) {
    const secrets = await teamOrOwnKeys(context, input.secret);
    const sequence = new EventSequence(context.clock);
    const endController = new AbortController();
    const targetOf = targetsOf(input);
    const forwarder = new Forwarder(() => steadyTime(context.clock));
    const onDelivery = async (delivery: ReceivedDelivery): Promise<number> => {
      const target = delivery.verdict.valid ? targetOf(kindOf(delivery)) : undefined;
      const forwardResult = target === undefined ? undefined : { url: target, ...(await forwarder.forward(target, delivery)) };
      await show(context, sequence, delivery, forwardResult);
      const isAccepted = forwardResult === undefined || ('status' in forwardResult && forwardResult.status < 300);
      if (isAccepted && delivery.verdict.valid && !delivery.duplicate && kindOf(delivery) === input.until) endController.abort();
      return forwardResult === undefined ? 204 : 'status' in forwardResult ? forwardResult.status : 502;
    };
    const receiver = await receiveWebhooks({ port: input.port ?? 0, secrets, clock: context.clock, onDelivery });
    let remove: (() => Promise<void>) | undefined;
    try {
      if (input.subscribe) remove = await temporaryWebhook(context, receiver.url, input.event);
      await announce(context, sequence, receiver.url);
      const either = AbortSignal.any([context.signal, endController.signal]);
      if (!either.aborted) await once(either, 'abort');
    } finally {
      await remove?.();
      await receiver.close();
      await forwarder.close();
    }
    if (!endController.signal.aborted && (input.until !== undefined || !isInterrupt(context.signal.reason))) throw context.signal.reason;
    return undefined;
  },
});

/** Whether the command was interrupted, which is the normal way to end it without --until. */
const isInterrupt = (reason: unknown): boolean => reason instanceof AopsError && ['interrupted', 'terminated'].includes(reason.code);

/** An event in the envelope of all streams. The members of `data` are repeated next to it for programs that do not know the envelope. */
function listenerEvent(sequence: EventSequence, { type, ...data }: { type: string } & Record<string, unknown>): object {
  return { ...sequence.next<Envelope>({ type, data }, {}), ...data };
}

const forPrograms = ({ format }: Context): boolean => format === 'json' || format === 'ndjson';

async function announce(context: Context, sequence: EventSequence, url: string): Promise<void> {
  if (forPrograms(context)) await context.terminal.json(listenerEvent(sequence, { type: 'listening', url }));
  else context.terminal.note(`Listening on ${url}. Press Ctrl-C to stop.`);
}

async function show(context: Context, sequence: EventSequence, delivery: ReceivedDelivery, forwardResult: ForwardResult): Promise<void> {
  const { terminal, clock } = context;
  const at = new Date(clock.now()).toISOString();
  if (forPrograms(context)) return terminal.json(listenerEvent(sequence, deliveryObject(delivery, at, forwardResult)));
  if (!delivery.verdict.valid) return terminal.warn(`Rejected: ${delivery.verdict.message} ${delivery.verdict.hint}`);
  await terminal.line(deliveryLine(delivery, at, forwardResult, await terminal.out.styles()));
}
