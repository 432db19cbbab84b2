/** Secrets from a file, standard input, or a prompt, never from an argument: other users can read the command line of a process. */
import { UsageError } from '../../base/errors.ts';
import { minRedactedLength } from '../../base/redaction.ts';
import { isVariableName, variableNameRule } from '../../base/variable-name.ts';
import type { Context } from '../kit/context.ts';
import { readText } from './body.ts';

interface SecretSource {
  /** What precedes the equals sign on the command line, such as `--header NAME`. */
  flag: string;
  /** The question in a terminal. */
  prompt: string;
  /** What else the hint suggests, as the end of a sentence. */
  alternative?: string;
}

/**
 * The text of a secret, unchanged.
 * @param source what follows the equals sign: `@FILE`, `@-`, or `-`. The secret is prompted for if it is undefined.
 * @throws UsageError for any other text, which the message does not repeat
 */
export async function readSecret(context: Context, source: string | undefined, options: SecretSource): Promise<string> {
  const { flag, prompt, alternative = '' } = options;
  if (source === undefined) return context.prompter.password({ message: prompt, flag: `${flag}=@FILE` });
  if (source === '-') return readText(context, '-');
  if (source.startsWith('@')) return readText(context, source.slice(1));
  throw new UsageError(
    `${flag}=... must be @FILE or @-, because secrets on the command line are visible to other users.`,
    `Put the value in a file and pass ${flag}=@FILE${alternative}.`,
  );
}

/** A secret of an agent. */
export interface NamedSecret {
  name: string;
  value: string;
}

/** Maximum length of a value, in characters: systems limit environment variables to 128 KiB, with their name and in bytes. */
const maxValueLength = 65_536;

interface SecretWord {
  name: string;
  /** What follows the equals sign, if there is one. */
  source?: string;
}

/** The names in words such as `NAME=@FILE`, without reading a value. @throws UsageError */
export function secretNames(words: readonly string[]): string[] {
  return secretWords(words).map(({ name }) => name);
}

function secretWords(words: readonly string[]): SecretWord[] {
  const sources = words.map((word): SecretWord => {
    const separator = word.indexOf('=');
    return separator < 0 ? { name: word } : { name: word.slice(0, separator), source: word.slice(separator + 1) };
  });
  for (const [index, { name }] of sources.entries()) {
    checkSecretName(name);
    if (sources.findIndex((each) => each.name === name) < index) throw new UsageError(`The secret ${name} appears twice.`);
  }
  return sources;
}

/**
 * The secrets of an agent from words such as `NAME=@FILE`. Their values are masked on stderr from then on.
 * @param prefix what precedes the words on the command line, such as `--secret `
 * @throws UsageError
 */
export async function readAgentSecrets(context: Context, words: readonly string[], prefix = ''): Promise<NamedSecret[]> {
  const sources = secretWords(words);
  if (sources.filter(({ source }) => source === '-' || source === '@-').length > 1)
    throw new UsageError('Only one secret can be read from standard input.', 'Put the others in files and pass NAME=@FILE.');
  const secrets: NamedSecret[] = [];
  for (const { name, source } of sources) {
    const text = await readSecret(context, source, { flag: `${prefix}${name}`, prompt: `Value of ${name}` });
    // Files end in a line feed that is not part of the secret; others of its lines, such as those of a key, are.
    const value = text.replace(/[\r\n]+$/, '');
    context.terminal.protect(value);
    if (value.trim() === '') throw new UsageError(`The value of ${name} is empty.`);
    if (value.includes('\0'))
      throw new UsageError(`The value of ${name} contains a NUL character, which no environment variable can contain.`);
    if ([...value].length > maxValueLength) throw new UsageError(`The value of ${name} is longer than ${maxValueLength} characters.`);
    if (value.length < minRedactedLength)
      context.terminal.warn(
        `${name} has fewer than ${minRedactedLength} characters, so it will not be replaced in what the agent prints: texts that contain it by chance would be damaged.`,
      );
    secrets.push({ name, value });
  }
  return secrets;
}

/** @throws UsageError for a text that cannot be the name of an environment variable */
export function checkSecretName(name: string): string {
  if (isVariableName(name)) return name;
  throw new UsageError(
    'The name of a secret must be the name of an environment variable.',
    `Names such as ANTHROPIC_API_KEY: ${variableNameRule}. Pass NAME=@FILE, never the value itself.`,
  );
}
