/**
 * Headers from the command line. Secrets come from a file, standard input or a prompt, never from an argument: other users can read
 * the command line of a process.
 */
import { UsageError } from '../../base/errors.ts';
import { readSecret } from '../../cli/input/secret.ts';
import type { Context } from '../../cli/kit/context.ts';
import { texts } from '../../cli/kit/flags.ts';
import type { Connection } from '../../interface/types.ts';

export const headerOptions = {
  header: texts(
    'NAME[=@FILE|-]',
    'Send a secret header; its value is read from a file or standard input, or prompted for; can be repeated',
    {
      complete: 'files',
    },
  ),
  plainHeader: texts('NAME=VALUE', 'Send a header that is not secret; can be repeated'),
} as const;

export interface HeaderInput {
  header: readonly string[];
  plainHeader: readonly string[];
}

export interface Headers {
  plaintext: Record<string, string>;
  secret: Record<string, string>;
}

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Names under which secrets are sent. */
const usuallySecret = /authorization|cookie|secret|token|password|api-?key/i;

/** The headers from the flags. Their secrets are masked on stderr from then on. @throws UsageError */
export async function readHeaders(context: Context, input: HeaderInput): Promise<Headers> {
  const headers: Headers = { plaintext: {}, secret: {} };
  const names = new Set<string>();
  const addSecret = (name: string, flag: string): void => {
    if (!headerName.test(name)) throw new UsageError(`"${name}" is not a valid header name for ${flag}.`);
    if (names.has(name.toLowerCase())) throw new UsageError(`The header ${name} appears twice.`);
    names.add(name.toLowerCase());
  };
  for (const word of input.plainHeader) {
    const separator = word.indexOf('=');
    if (separator < 0) throw new UsageError(`--plain-header must have the form NAME=VALUE; "${word}" does not.`);
    addSecret(word.slice(0, separator), '--plain-header');
    headers.plaintext[word.slice(0, separator)] = word.slice(separator + 1);
    if (usuallySecret.test(word.slice(0, separator)))
      context.terminal.warn(`${word.slice(0, separator)} is visible to everyone who can see the connection. Use --header for secrets.`);
  }
  for (const word of input.header) {
    const separator = word.indexOf('=');
    const name = separator < 0 ? word : word.slice(0, separator);
    addSecret(name, '--header');
    headers.secret[name] = await secretValue(context, name, separator < 0 ? undefined : word.slice(separator + 1));
  }
  return headers;
}

async function secretValue(context: Context, name: string, source: string | undefined): Promise<string> {
  const value = (
    await readSecret(context, source, {
      flag: `--header ${name}`,
      prompt: `Value of ${name}`,
      alternative: ', or use --plain-header for a value that is not secret',
    })
  ).trim();
  if (value === '' || /[\r\n]/.test(value))
    throw new UsageError(`The value of ${name} is ${value === '' ? 'empty' : 'longer than one line'}.`);
  context.terminal.protect(value);
  return value;
}

/** The headers to send. In a dry run, which prints the request, secrets are masked. */
export const sentHeaders = (context: Context, { plaintext, secret }: Headers): Headers => ({
  plaintext,
  secret: context.flags.dryRun ? Object.fromEntries(Object.entries(secret).map(([name, value]) => [name, value && '***'])) : secret,
});

/**
 * The headers of a connection after adding, replacing and removing those from the flags; undefined if nothing changes. Other stored
 * secrets are unchanged.
 * @throws UsageError when the service does not report the headers
 */
export function mergedHeaders(connection: Connection, addedHeaders: Headers, removedNames: readonly string[]): Headers | undefined {
  if (Object.keys({ ...addedHeaders.plaintext, ...addedHeaders.secret }).length === 0 && removedNames.length === 0) return undefined;
  if (connection.headers === undefined && connection.has_headers)
    throw new UsageError(
      `The service does not report the headers of ${connection.name}, so they cannot be changed individually.`,
      'Replace all of them with --replace-headers.',
    );
  const { plaintext = {}, secret = {} } = connection.headers ?? {};
  const replacedNames = new Set(
    [...removedNames, ...Object.keys(addedHeaders.plaintext), ...Object.keys(addedHeaders.secret)].map((name) => name.toLowerCase()),
  );
  const headerNames = new Set(Object.keys({ ...plaintext, ...secret }).map((name) => name.toLowerCase()));
  const unknownName = removedNames.find((name) => !headerNames.has(name.toLowerCase()));
  if (unknownName !== undefined) throw new UsageError(`${connection.name} has no header ${unknownName}.`);
  const without = (headers: Record<string, string>) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => !replacedNames.has(name.toLowerCase())));
  return { plaintext: { ...without(plaintext), ...addedHeaders.plaintext }, secret: { ...without(secret), ...addedHeaders.secret } };
}
