/** Options for creating and updating webhooks. */

import { AopsError, exitCodes } from '../../base/errors.ts';
import { contractNames } from '../../cli/connect/service-contract.ts';
import { length, webAddress } from '../../cli/kit/checks.ts';
import type { Context } from '../../cli/kit/context.ts';
import { choice, choices, text } from '../../cli/kit/flags.ts';
import { webhookEventKinds, webhookFormats } from '../../interface/webhook-events.ts';

export const eventOption = choices(webhookEventKinds, 'EVENT', 'Event to send; can be repeated (default: all events)');
export const descriptionOption = text('TEXT', 'Description of the webhook', { check: length(0, 500) });
export const address = { check: webAddress };
export const formatOption = choice(
  webhookFormats,
  'What to send: events as JSON, or messages for Slack or Microsoft Teams (default: standard)',
);

/** A service that does not know the field would ignore it, and send JSON to a chat program. @throws AopsError `not_offered` */
export async function requireFormats(context: Context, format: string | undefined): Promise<void> {
  if (format === undefined || format === 'standard' || (await contractNames(await context.client(), 'WebhookFormat'))) return;
  throw new AopsError('This service does not offer webhooks for chat programs.', {
    code: 'not_offered',
    exit: exitCodes.notFound,
    hint: 'It sends events only as JSON. To write to a channel, receive them with a program of your own.',
  });
}
