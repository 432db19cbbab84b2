/** A secret on its way out: masked, unless it was asked for in so many words. */

import type { Context } from '../../../cli/kit/context.ts';
import { flag } from '../../../cli/kit/flags.ts';
import { recordOutput, time } from '../../../cli/kit/output.ts';
import { maskSecret } from '../../../config/secret.ts';
import type { WebhookSecret } from '../../../interface/types.ts';

export const revealFlag = flag('Show the secret itself');

/** The secret as it may be printed. It never reaches stderr. */
export function shownSecret(context: Context, answer: WebhookSecret, reveal: boolean): WebhookSecret {
  context.terminal.protect(answer.secret);
  return reveal ? answer : { ...answer, secret: maskSecret(answer.secret) };
}

export const secretOutput = recordOutput<WebhookSecret>((secret) => ({
  Secret: secret.secret,
  Created: time(secret.created_at),
  'Secret before': secret.previous_expires_at ? 'signs too, until it expires' : undefined,
  Expires: secret.previous_expires_at ? time(secret.previous_expires_at) : undefined,
}));
