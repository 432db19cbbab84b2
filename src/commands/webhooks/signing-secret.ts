/** Reads the secret to verify with from a file, standard input or the environment, never from the command line itself. */
import { UsageError } from '../../base/errors.ts';
import { readText } from '../../cli/input/body.ts';
import type { Context } from '../../cli/kit/context.ts';
import { texts } from '../../cli/kit/flags.ts';
import { secretKey } from '../../client/webhooks/signature.ts';

const variable = 'AOPS_WEBHOOK_SECRET';

export const secretOption = texts(
  '@FILE|-',
  `Read the secret from a file, or - for standard input (default: $${variable}); can be repeated`,
  {
    complete: 'files',
  },
);

/** The keys of all secrets; empty if there are none. @throws UsageError for an invalid secret */
export async function signingKeys(context: Context, sources: readonly string[]): Promise<Uint8Array[]> {
  const secrets = await Promise.all(
    sources.map(async (word): Promise<[string, string]> => [await secretText(context, word), `--secret ${word}`]),
  );
  const fallback = context.env[variable];
  const secretSources: [string, string][] = secrets.length > 0 || fallback === undefined ? secrets : [[fallback, `$${variable}`]];
  // A file can contain several secrets, such as both of a rotation.
  return secretSources.flatMap(([text, name]) =>
    text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => {
        context.terminal.protect(line.trim());
        return secretKey(line, name);
      }),
  );
}

/** The keys of these secrets, or that of the team if there are none. */
export async function teamOrOwnKeys(context: Context, sources: readonly string[]): Promise<Uint8Array[]> {
  const specifiedKeys = await signingKeys(context, sources);
  if (specifiedKeys.length > 0) return specifiedKeys;
  const client = await context.client();
  const { secret } = await client.call('getTeamWebhookSecret', { params: { teamId: context.teamId() } });
  context.terminal.protect(secret);
  return [secretKey(secret, 'The secret from the service')];
}

async function secretText(context: Context, word: string): Promise<string> {
  if (word === '-') return readText(context, '-');
  if (word.startsWith('@')) return readText(context, word.slice(1));
  throw new UsageError(
    '--secret must be @FILE or -, because secrets on the command line are visible to other users.',
    `Put the secret in a file or in ${variable}.`,
  );
}
