import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { contractNames } from '../../cli/connect/service-contract.ts';
import { checkEventForm } from '../../cli/following/event-writer.ts';
import { resumeFlag } from '../../cli/following/resume-source.ts';
import { reshapesOutput } from '../../cli/kit/audience.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { choice, flag, integer, text, texts } from '../../cli/kit/flags.ts';
import { webhookEventKinds } from '../../interface/webhook-events.ts';
import { followTemporary, followWebhook } from './follow-webhook.ts';
import { forPrograms } from './listener-output.ts';
import { address, eventOption } from './options.ts';
import { receiveDeliveries } from './receive-deliveries.ts';
import { deliveryFields } from './received.ts';
import { isRoute, targetsOf } from './routes.ts';
import { secretOption, teamOrOwnKeys } from './signing-secret.ts';

export default defineCommand({
  summary: 'Receive and print webhook deliveries on this machine',
  description:
    'Each delivery is verified before it is printed; deliveries with an invalid signature are rejected with status 400. --subscribe creates a webhook that exists as long as the command runs, and for an hour after it was killed. With --forward-to and --route, each delivery is sent on with its headers, including the signature, and an unchanged body; the sender gets the response, and repeats what failed. With only --route, other events are printed and accepted. The default secret is that of the team; with --secret, no service is needed. --json prints one JSON object per line, including the original body, and a token with which --resume continues after it. With --subscribe and --webhook, deliveries that were made while nobody listened are printed then, too. With --resume, the webhook of --subscribe is kept for an hour however the command ends, so that the next one continues.',
  options: {
    port: integer('N', 'Listen on this port of 127.0.0.1 (default: a free port)', { minimum: 0, maximum: 65_535 }),
    subscribe: flag('Create a temporary webhook for this command'),
    event: { ...eventOption, summary: 'With --subscribe: event to send; can be repeated (default: all events)' },
    secret: secretOption,
    forwardTo: text('URL', 'Forward deliveries to this URL and return its response', address),
    route: texts('EVENT=URL', 'Forward deliveries of this event to this URL instead; can be repeated', { check: isRoute }),
    webhook: text('ID', 'Print all deliveries of this webhook in the order in which the service recorded them', {
      complete: 'webhooks',
    }),
    resume: resumeFlag,
    until: choice(webhookEventKinds, 'End after the first event of this type; limit the wait with --timeout', { metavar: 'EVENT' }),
  },
  operations: [
    'getTeamWebhookSecret',
    'createTeamWebhook',
    'updateTeamWebhook',
    'deleteTeamWebhook',
    'listTeamWebhooks',
    'listWebhookDeliveries',
    'getWebhookDelivery',
    'resendWebhookDelivery',
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
    { command: 'aops webhooks listen --subscribe --resume auto --json', text: 'Continue after the last delivery that was printed' },
    { command: 'aops webhooks listen --webhook ID --resume auto --json', text: 'The same for a webhook that exists already' },
    { command: 'aops webhooks listen --port 8080 --until run.completed --timeout 5m --json', text: 'Wait for an event in a script' },
  ],
  async run(context, input) {
    checkFlags(input);
    if (reshapesOutput(context) && !forPrograms(context))
      throw new UsageError('--fields, --jq, and --template need events that are printed for programs.', 'Add -o ndjson.');
    await checkEventForm(context, { fields: deliveryFields, resume: input.resume });
    const secrets = await teamOrOwnKeys(context, input.secret);
    const { webhook, resume, until, event, port = 0 } = input;
    const listening = { resume, until, port, secrets };
    try {
      if (webhook !== undefined) await followWebhook(context, webhook, listening);
      else if (input.subscribe && !forwards(input) && (await offersExpiry(context))) await followTemporary(context, event, listening);
      else
        await receiveDeliveries(context, {
          ...listening,
          targetOf: targetsOf(input),
          subscription: input.subscribe ? event : undefined,
        });
    } catch (error) {
      if (until !== undefined || error !== context.signal.reason || !isInterrupt(error)) throw error;
    }
    return undefined;
  },
});

interface ListenFlags {
  webhook?: unknown;
  subscribe: boolean;
  forwardTo?: unknown;
  route: readonly unknown[];
}

const forwards = ({ forwardTo, route }: ListenFlags): boolean => forwardTo !== undefined || route.length > 0;

/** Whether the service deletes temporary webhooks by itself; it then also lists their deliveries. */
const offersExpiry = async (context: Context): Promise<boolean> => contractNames(await context.client(), 'expires_in_seconds');

/** @throws UsageError for flags that --webhook excludes */
function checkFlags({ webhook, subscribe, forwardTo, route }: ListenFlags): void {
  if (webhook === undefined) return;
  const excluded = [
    ...(subscribe ? ['--subscribe'] : []),
    ...(forwardTo === undefined ? [] : ['--forward-to']),
    ...(route.length === 0 ? [] : ['--route']),
  ];
  if (excluded.length > 0)
    throw new UsageError(
      `--webhook and ${excluded.join(' and ')} cannot be combined.`,
      '--webhook prints what the service has recorded, also if it was not delivered here. Leave out the others, or --webhook.',
    );
}

/** Whether the command was interrupted, which is the normal way to end it without --until. */
const isInterrupt = (reason: unknown): boolean => reason instanceof AopsError && ['interrupted', 'terminated'].includes(reason.code);
