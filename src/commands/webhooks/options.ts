/** Options for creating and updating webhooks. */

import { length, webAddress } from '../../cli/kit/checks.ts';
import { choices, text } from '../../cli/kit/flags.ts';
import { webhookEventKinds } from '../../interface/webhook-events.ts';

export const eventOption = choices(webhookEventKinds, 'EVENT', 'Event to send; can be repeated (default: all events)');
export const descriptionOption = text('TEXT', 'Description of the webhook', { check: length(0, 500) });
export const address = { check: webAddress };
