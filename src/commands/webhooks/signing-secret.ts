/** The secret to verify with: from a file, standard input or the environment, never from the command line itself. */
import { UsageError } from '../../base/errors.ts';
import { readText } from '../../cli/input/body.ts';
import type { Context } from '../../cli/kit/context.ts';
import { texts } from '../../cli/kit/flags.ts';
import { secretKey } from '../../client/webhooks/signature.ts';

const variable = 'AOPS_WEBHOOK_SECRET';

export const secretOption = texts(
  '@FILE|-',
  `Read the secret from a file, or - for standard input (default: $${variable}); may be repeated`,
  {
    complete: 'files',
  },
);

/** The keys of all secrets given; none when there is none anywhere. @throws UsageError for what is no secret */
export async function signingKeys(context: Context, given: readonly string[]): Promise<Uint8Array[]> {
  const named = await Promise.all(
    given.map(async (word): Promise<[string, string]> => [await secretText(context, word), `--secret ${word}`]),
  );
  const fallback = context.env[variable];
  const all: [string, string][] = named.length > 0 || fallback === undefined ? named : [[fallback, `$${variable}`]];
  // A file may hold several, such as both of a rotation.
  return all.flatMap(([text, name]) =>
    text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => {
        context.terminal.protect(line.trim());
        return secretKey(line, name);
      }),
  );
}

async function secretText(context: Context, word: string): Promise<string> {
  if (word === '-') return readText(context, '-');
  if (word.startsWith('@')) return readText(context, word.slice(1));
  throw new UsageError(
    '--secret takes @FILE or -: other users of this machine can see secrets on a command line.',
    `Put the secret into a file, or into ${variable}.`,
  );
}
