/**
 * Headers from the command line. What is secret comes from a file, standard input or a prompt, never from an argument: the command
 * line of a process can be read by others.
 */
import { UsageError } from '../../base/errors.ts';
import { readText } from '../../cli/input/body.ts';
import type { Context } from '../../cli/kit/context.ts';
import { texts } from '../../cli/kit/flags.ts';
import type { Connection } from '../../interface/types.ts';

export const headerOptions = {
  header: texts('NAME[=@FILE|-]', 'Send a secret header; its value is in a file or on standard input, or is asked for; may be repeated', {
    complete: 'files',
  }),
  plainHeader: texts('NAME=VALUE', 'Send a header that is no secret; may be repeated'),
} as const;

export interface HeaderInput {
  header: readonly string[];
  plainHeader: readonly string[];
}

export interface Headers {
  plaintext: Record<string, string>;
  secret: Record<string, string>;
}

const wanted = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Names under which secrets are sent. */
const usuallySecret = /authorization|cookie|secret|token|password|api-?key/i;

/** What the flags say; the secrets will not be shown on stderr. @throws UsageError */
export async function readHeaders(context: Context, input: HeaderInput): Promise<Headers> {
  const headers: Headers = { plaintext: {}, secret: {} };
  const names = new Set<string>();
  const take = (name: string, flag: string): void => {
    if (!wanted.test(name)) throw new UsageError(`${flag} begins with the name of a header, and "${name}" is not a valid one.`);
    if (names.has(name.toLowerCase())) throw new UsageError(`The header ${name} is given twice.`);
    names.add(name.toLowerCase());
  };
  for (const word of input.plainHeader) {
    const at = word.indexOf('=');
    if (at < 0) throw new UsageError(`--plain-header takes NAME=VALUE, not "${word}".`);
    take(word.slice(0, at), '--plain-header');
    headers.plaintext[word.slice(0, at)] = word.slice(at + 1);
    if (usuallySecret.test(word.slice(0, at)))
      context.terminal.warn(`${word.slice(0, at)} is shown to whoever may see the connection. Give a secret with --header.`);
  }
  for (const word of input.header) {
    const at = word.indexOf('=');
    const name = at < 0 ? word : word.slice(0, at);
    take(name, '--header');
    headers.secret[name] = await secretValue(context, name, at < 0 ? undefined : word.slice(at + 1));
  }
  return headers;
}

async function secretValue(context: Context, name: string, source: string | undefined): Promise<string> {
  if (source !== undefined && source !== '-' && !source.startsWith('@'))
    throw new UsageError(
      `--header ${name}=... takes @FILE or -: other users of this machine can see secrets on a command line.`,
      `Put the value into a file and give --header ${name}=@FILE, or use --plain-header for a value that is not secret.`,
    );
  const text =
    source === undefined
      ? await context.prompter.password({ message: `Value of ${name}`, flag: `--header ${name}=@FILE` })
      : await readText(context, source === '-' ? '-' : source.slice(1));
  const value = text.trim();
  if (value === '' || /[\r\n]/.test(value))
    throw new UsageError(`The value of ${name} is ${value === '' ? 'empty' : 'more than one line'}.`);
  context.terminal.protect(value);
  return value;
}

/** As it is sent: a dry run shows the request on stdout, and has no secrets to show. */
export const sentHeaders = (context: Context, { plaintext, secret }: Headers): Headers => ({
  plaintext,
  secret: context.flags.dryRun ? Object.fromEntries(Object.entries(secret).map(([name, value]) => [name, value && '***'])) : secret,
});

/**
 * The headers of a connection with those of the flags added, replaced or taken away; undefined when nothing of them changes. Other
 * secrets stay as they are stored.
 * @throws UsageError when the service does not say which there are
 */
export function mergedHeaders(connection: Connection, given: Headers, removed: readonly string[]): Headers | undefined {
  if (Object.keys({ ...given.plaintext, ...given.secret }).length === 0 && removed.length === 0) return undefined;
  if (connection.headers === undefined && connection.has_headers)
    throw new UsageError(
      `The service does not say which headers ${connection.name} has, so one alone cannot be changed.`,
      'Give all of them together with --replace-headers.',
    );
  const { plaintext = {}, secret = {} } = connection.headers ?? {};
  const gone = new Set([...removed, ...Object.keys(given.plaintext), ...Object.keys(given.secret)].map((name) => name.toLowerCase()));
  const known = new Set(Object.keys({ ...plaintext, ...secret }).map((name) => name.toLowerCase()));
  const unknown = removed.find((name) => !known.has(name.toLowerCase()));
  if (unknown !== undefined) throw new UsageError(`${connection.name} has no header ${unknown}.`);
  const without = (headers: Record<string, string>) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => !gone.has(name.toLowerCase())));
  return { plaintext: { ...without(plaintext), ...given.plaintext }, secret: { ...without(secret), ...given.secret } };
}
