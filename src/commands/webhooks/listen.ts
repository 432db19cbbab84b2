import { once } from 'node:events';
import { AopsError, exitCodes } from '../../base/errors.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { choice, flag, integer, text } from '../../cli/kit/flags.ts';
import { forwarder } from '../../client/webhooks/forward.ts';
import { type ReceivedDelivery, receiveWebhooks } from '../../client/webhooks/receiver.ts';
import { secretKey } from '../../client/webhooks/signature.ts';
import { webhookEventKinds } from '../../interface/webhook-events.ts';
import { address, eventOption } from './options.ts';
import { deliveryLine, deliveryObject, type Forwarded, kindOf } from './received.ts';
import { secretOption, signingKeys } from './signing-secret.ts';
import { temporaryWebhook } from './temporary-webhook.ts';

export default defineCommand({
  summary: 'Receive deliveries on this machine, and show them as they come',
  description:
    'Each one is verified before it is shown; what is not genuine is refused with 400. --subscribe creates a webhook for as long as it listens. The secret is that of the team unless --secret gives another, and then no service is needed. --json prints one JSON object a line, with the body as it came.',
  options: {
    port: integer('N', 'Listen on this port of 127.0.0.1 (default: a free one)', { minimum: 0, maximum: 65_535 }),
    subscribe: flag('Create a webhook for it, and delete it at the end'),
    event: { ...eventOption, summary: 'With --subscribe: this kind of event; may be repeated (default: all kinds)' },
    secret: secretOption,
    forwardTo: text('URL', 'Pass each delivery on, and answer what is answered there', address),
    until: choice(webhookEventKinds, 'End after the first event of this kind; limit the wait with --timeout', { metavar: 'EVENT' }),
  },
  operations: ['getTeamWebhookSecret', 'createTeamWebhook', 'deleteTeamWebhook'],
  mutates: true,
  exits: [exitCodes.timeout],
  examples: [
    { command: 'aops webhooks listen --subscribe', text: 'Everything that happens, until Ctrl-C' },
    { command: 'aops webhooks listen --subscribe --forward-to http://127.0.0.1:3000/hook', text: 'Into the program that you work on' },
    { command: 'aops webhooks listen --port 8080 --until run.completed --timeout 5m --json', text: 'Wait for an event in a script' },
  ],
  async run(context, input) {
    const secrets = await keys(context, input.secret);
    const reached = new AbortController();
    const onward = input.forwardTo === undefined ? undefined : forwarder(input.forwardTo);
    const onDelivery = async (delivery: ReceivedDelivery): Promise<number> => {
      const pass = onward !== undefined && delivery.verdict.valid && !delivery.duplicate;
      const forwarded = pass ? await onward.forward(delivery) : undefined;
      await show(context, delivery, forwarded);
      const good = forwarded === undefined || ('status' in forwarded && forwarded.status < 300);
      if (good && delivery.verdict.valid && !delivery.duplicate && kindOf(delivery) === input.until) reached.abort();
      return forwarded === undefined ? 204 : 'status' in forwarded ? forwarded.status : 502;
    };
    const receiver = await receiveWebhooks({ port: input.port ?? 0, secrets, clock: context.clock, onDelivery });
    let remove: (() => Promise<void>) | undefined;
    try {
      if (input.subscribe) remove = await temporaryWebhook(context, receiver.url, input.event);
      await announce(context, receiver.url);
      const either = AbortSignal.any([context.signal, reached.signal]);
      if (!either.aborted) await once(either, 'abort');
    } finally {
      await remove?.();
      await receiver.close();
      await onward?.close();
    }
    if (!reached.signal.aborted && (input.until !== undefined || !isInterrupt(context.signal.reason))) throw context.signal.reason;
    return undefined;
  },
});

/** Ctrl-C is how listening without an end ends. */
const isInterrupt = (reason: unknown): boolean => reason instanceof AopsError && ['interrupted', 'terminated'].includes(reason.code);

async function keys(context: Context, given: readonly string[]): Promise<Uint8Array[]> {
  const own = await signingKeys(context, given);
  if (own.length > 0) return own;
  const client = await context.client();
  const { secret } = await client.call('getTeamWebhookSecret', { params: { teamId: context.teamId() } });
  context.terminal.protect(secret);
  return [secretKey(secret, 'The answer of the service')];
}

const forPrograms = ({ format }: Context): boolean => format === 'json' || format === 'ndjson';

async function announce(context: Context, url: string): Promise<void> {
  if (forPrograms(context)) await context.terminal.json({ type: 'listening', url });
  else context.terminal.note(`Listening on ${url}; end it with Ctrl-C.`);
}

async function show(context: Context, delivery: ReceivedDelivery, forwarded: Forwarded): Promise<void> {
  const { terminal, clock } = context;
  const at = new Date(clock.now()).toISOString();
  if (forPrograms(context)) return terminal.json(deliveryObject(delivery, at, forwarded));
  if (!delivery.verdict.valid) return terminal.warn(`Refused: ${delivery.verdict.message} ${delivery.verdict.hint}`);
  await terminal.line(deliveryLine(delivery, at, forwarded, await terminal.out.styles()));
}
