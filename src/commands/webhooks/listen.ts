import { once } from 'node:events';
import { steadyTime } from '../../base/clock.ts';
import { AopsError, exitCodes } from '../../base/errors.ts';
import { resumeFlag } from '../../cli/following/resume-source.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { choice, flag, integer, text, texts } from '../../cli/kit/flags.ts';
import { Forwarder } from '../../client/webhooks/forward.ts';
import { type ReceivedDelivery, receiveWebhooks } from '../../client/webhooks/receiver.ts';
import { webhookEventKinds } from '../../interface/webhook-events.ts';
import { EventSequence } from '../../watch/envelope.ts';
import { checkFlags, followDeliveries } from './follow-deliveries.ts';
import { announce, show } from './listener-output.ts';
import { address, eventOption } from './options.ts';
import { kindOf } from './received.ts';
import { isRoute, targetsOf } from './routes.ts';
import { secretOption, teamOrOwnKeys } from './signing-secret.ts';
import { temporaryWebhook } from './temporary-webhook.ts';

export default defineCommand({
  summary: 'Receive and print webhook deliveries on this machine',
  description:
    'Each delivery is verified before it is printed; deliveries with an invalid signature are rejected with status 400. --subscribe creates a webhook that exists as long as the command runs. With --forward-to and --route, each delivery is sent on with its headers, including the signature, and an unchanged body; the sender gets the response, and repeats what failed. With only --route, other events are printed and accepted. The default secret is that of the team; with --secret, no service is needed. --json prints one JSON object per line, including the original body. With --webhook, deliveries are read from the list of the service, also those that were made while nobody listened, and each object has a token for --resume.',
  options: {
    port: integer('N', 'Listen on this port of 127.0.0.1 (default: a free port)', { minimum: 0, maximum: 65_535 }),
    subscribe: flag('Create a temporary webhook for this command'),
    event: { ...eventOption, summary: 'With --subscribe: event to send; can be repeated (default: all events)' },
    secret: secretOption,
    forwardTo: text('URL', 'Forward deliveries to this URL and return its response', address),
    route: texts('EVENT=URL', 'Forward deliveries of this event to this URL instead; can be repeated', { check: isRoute }),
    webhook: text(
      'ID',
      'Print all deliveries of this webhook in the order in which the service recorded them, so that --resume can continue',
      {
        complete: 'webhooks',
      },
    ),
    resume: { ...resumeFlag, summary: `With --webhook: ${resumeFlag.summary.charAt(0).toLowerCase()}${resumeFlag.summary.slice(1)}` },
    until: choice(webhookEventKinds, 'End after the first event of this type; limit the wait with --timeout', { metavar: 'EVENT' }),
  },
  operations: [
    'getTeamWebhookSecret',
    'createTeamWebhook',
    'deleteTeamWebhook',
    'listTeamWebhooks',
    'listWebhookDeliveries',
    'getWebhookDelivery',
  ],
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
    { command: 'aops webhooks listen --webhook ID --resume auto --json', text: 'Continue after the last delivery that was printed' },
    { command: 'aops webhooks listen --port 8080 --until run.completed --timeout 5m --json', text: 'Wait for an event in a script' },
  ],
  async run(context, input) {
    checkFlags(input);
    const secrets = await teamOrOwnKeys(context, input.secret);
    if (input.webhook !== undefined) {
      const { webhook, resume, until, port = 0 } = input;
      try {
        await followDeliveries(context, { webhook, resume, until, port, secrets });
      } catch (error) {
        if (until !== undefined || error !== context.signal.reason || !isInterrupt(error)) throw error;
      }
      return undefined;
    }
    const sequence = new EventSequence(context.clock);
    const endController = new AbortController();
    const targetOf = targetsOf(input);
    const forwarder = new Forwarder(() => steadyTime(context.clock));
    const onDelivery = async (delivery: ReceivedDelivery): Promise<number> => {
      const target = delivery.verdict.valid ? targetOf(kindOf(delivery)) : undefined;
      const forwardResult = target === undefined ? undefined : { url: target, ...(await forwarder.forward(target, delivery)) };
      await show(context, sequence, { delivery, forwardResult });
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
