/** What creating and changing a webhook share. */

import { length, webAddress } from '../../cli/kit/checks.ts';
import { choices, text } from '../../cli/kit/flags.ts';
import { webhookEventKinds } from '../../interface/webhook-events.ts';

export const eventOption = choices(webhookEventKinds, 'EVENT', 'Tell of this kind of event; may be repeated (default: all kinds)');
export const descriptionOption = text('TEXT', 'What it is for', { check: length(0, 500) });
export const address = { check: webAddress };
