import { parseDuration } from '../../base/duration.ts';
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { readBytes } from '../../cli/input/body.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { dateTime, duration, requiredText, texts } from '../../cli/kit/flags.ts';
import { recordOutput, time } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import { type Verdict, verifyDelivery } from '../../client/webhooks/signature.ts';
import { secretOption, signingKeys } from './signing-secret.ts';

export default defineCommand({
  summary: 'Verify the signature of a delivery',
  description:
    'Works without a service. The body must be unchanged, byte for byte. If no signature matches, the command checks common causes, such as an added line feed, reformatted JSON, or a secret that was not decoded. The exit code is 1 if the delivery is not valid.',
  options: {
    body: requiredText('FILE|-', 'The original body of the request', { complete: 'files' }),
    header: texts('NAME: VALUE', 'Header of the request; webhook-id, webhook-timestamp, and webhook-signature are required', {
      short: 'H',
    }),
    secret: secretOption,
    at: dateTime('Check the age as of this time (default: now)'),
    tolerance: duration('Maximum difference from the current time (default: 5m)'),
  },
  exits: [exitCodes.failure],
  examples: [
    {
      command:
        "aops webhooks verify --body body.json -H 'webhook-id: ID' -H 'webhook-timestamp: 1784365200' -H 'webhook-signature: v1,...' --secret @secret.txt",
      text: 'Verify a delivery that a receiver rejected',
    },
  ],
  result: returns({
    valid: 'boolean',
    id: 'string?',
    timestamp: 'date-time?',
    age_seconds: 'integer?',
    reason: 'string?',
    message: 'string?',
    hint: 'string?',
  }),
  output: recordOutput<Verdict>((verdict) =>
    verdict.valid
      ? { Valid: true, ID: verdict.id, Signed: time(verdict.timestamp) }
      : { Valid: false, Reason: verdict.reason.replaceAll('_', ' ') },
  ),
  async run(context, input) {
    if (input.body === '-' && input.secret.includes('-')) throw new UsageError('Standard input cannot be both the body and the secret.');
    const headers = input.header.map(headerOf);
    const secrets = await signingKeys(context, input.secret);
    if (secrets.length === 0)
      throw new UsageError(
        'No secret was specified.',
        'Pass it with --secret @FILE. `aops webhooks secret show --reveal --jq .secret` prints the secret of the team.',
      );
    const body = await readBytes(context, input.body);
    const clock = context.clock.now();
    const now = input.at === undefined ? clock : Date.parse(input.at.iso(clock));
    const tolerance = input.tolerance === undefined ? {} : { tolerance: parseDuration(input.tolerance) ?? 0 };
    const verdict = verifyDelivery({ headers, body }, { secrets, now, ...tolerance });
    if (verdict.valid) return verdict;
    throw new ResultError(
      new AopsError(verdict.message, { code: `webhook_${verdict.reason}`, exit: exitCodes.failure, hint: verdict.hint }),
      verdict,
    );
  },
});

function headerOf(text: string): [string, string] {
  const separator = text.indexOf(':');
  if (separator > 0) return [text.slice(0, separator), text.slice(separator + 1)];
  throw new UsageError(`--header must have the form "NAME: VALUE"; "${text}" does not.`);
}
