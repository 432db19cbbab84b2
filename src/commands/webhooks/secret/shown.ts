/** Prints a secret, masked unless --reveal is used. */

import type { Context } from '../../../cli/kit/context.ts';
import { flag } from '../../../cli/kit/flags.ts';
import { recordOutput, time } from '../../../cli/kit/output.ts';
import { maskSecret } from '../../../config/secret.ts';
import type { WebhookSecret } from '../../../interface/types.ts';

export const revealFlag = flag('Print the secret unmasked');

/** The secret to print. It is masked on stderr in any case. */
export function displaySecret(context: Context, answer: WebhookSecret, reveal: boolean): WebhookSecret {
  context.terminal.protect(answer.secret);
  return reveal ? answer : { ...answer, secret: maskSecret(answer.secret) };
}

export const secretOutput = recordOutput<WebhookSecret>((secret) => ({
  Secret: secret.secret,
  Created: time(secret.created_at),
  'Previous secret': secret.previous_expires_at ? 'also signs until it expires' : undefined,
  Expires: secret.previous_expires_at ? time(secret.previous_expires_at) : undefined,
}));
