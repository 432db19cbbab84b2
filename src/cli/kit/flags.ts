/** Arguments and options of a command: their names, what they accept, and how their text is parsed. */

import { parseDuration } from '../../base/duration.ts';
import { UsageError } from '../../base/errors.ts';
import { momentForms, parseMoment } from '../../base/moment.ts';
import { nearest } from '../../base/nearest.ts';
import { wordList } from '../../base/word-list.ts';
import type { Check } from './checks.ts';

/** The values that shell completion reads from the service; see `picking/sources.ts`. */
export type RemoteSource =
  | 'runs'
  | 'agents'
  | 'queues'
  | 'revisions'
  | 'artifacts'
  | 'connections'
  | 'webhooks'
  | 'tools'
  | 'labels'
  | 'schedules'
  | 'rubrics'
  | 'memory';

/** The source of values for shell completion of an argument or option. */
export type CompletionSource = RemoteSource | 'cases' | 'profiles' | 'settings' | 'aliases' | 'shells' | 'events' | 'files' | 'directories';

/** The runs to which a command applies. */
export type PickedRuns = 'waiting' | 'active';

/** How a user picks a missing value; the values to choose from are those of `complete`. */
export interface PickSettings {
  /** Only these runs. */
  readonly runs?: PickedRuns;
  /** For an optional argument or option: other options that make it unnecessary. */
  readonly unless?: readonly string[];
  /** Whether Enter alone must not pick anything, as in commands that destroy something. */
  readonly needsCare?: true;
}

/** A positional argument. */
export interface Argument<Value = unknown> {
  readonly summary: string;
  readonly required: boolean;
  readonly variadic: boolean;
  readonly complete?: CompletionSource;
  readonly pick?: PickSettings;
  /** Applied to each value before the command runs. */
  readonly check?: Check;
  /** Type only. */
  readonly value?: Value;
}

/** An option, and how its text becomes a value. */
export interface Option<Value = unknown> {
  readonly summary: string;
  /** The placeholder for the value in help; undefined for a boolean flag. */
  readonly metavar?: string;
  /** One letter, without the dash. */
  readonly short?: string;
  readonly required: boolean;
  readonly repeatable: boolean;
  /** Other names of a boolean flag, in camelCase like the keys of options. */
  readonly aliases?: readonly string[];
  /** Whether `--no-…` exists too. */
  readonly negatable: boolean;
  readonly choices?: readonly string[];
  readonly complete?: CompletionSource;
  readonly pick?: PickSettings;
  /** The setting that provides the value of a required option that was not passed. */
  readonly setting?: 'agent';
  /** Whether it is left out of help, completion and the manual. */
  readonly hidden?: boolean;
  /** @throws UsageError naming the flag */
  readonly parse: (text: string, flag: string) => Value;
  /** Type only. */
  readonly value?: Value;
}

interface ArgumentSettings {
  complete?: CompletionSource;
  pick?: PickSettings;
  /** Validates the value; see checks.ts. */
  check?: Check;
}
interface OptionSettings extends ArgumentSettings {
  setting?: 'agent';
  short?: string;
  hidden?: boolean;
}
interface FlagSettings extends OptionSettings {
  aliases?: readonly string[];
}

export const argument = (summary: string, settings: ArgumentSettings = {}): Argument<string> => ({
  summary,
  required: true,
  variadic: false,
  ...settings,
});
export const optionalArgument = (summary: string, settings: ArgumentSettings = {}): Argument<string | undefined> => ({
  summary,
  required: false,
  variadic: false,
  ...settings,
});
export const repeatedArgument = (summary: string, settings: ArgumentSettings = {}): Argument<string[]> => ({
  summary,
  required: true,
  variadic: true,
  ...settings,
});

/** Any number of values, including none. */
export const anyArguments = (summary: string, settings: ArgumentSettings = {}): Argument<string[]> => ({
  summary,
  required: false,
  variadic: true,
  ...settings,
});

const base = { required: false, repeatable: false, negatable: false } as const;

/** An option whose value is text, validated by `check`. */
const asText = ({ check, ...settings }: OptionSettings) => ({ parse: check ?? ((value: string): string => value), ...settings });

/** `--flag`: false unless passed. */
export const flag = (summary: string, settings: FlagSettings = {}): Option<boolean> => ({
  ...base,
  summary,
  parse: () => true,
  ...settings,
});
/** `--flag` and `--no-flag`: undefined unless passed. */
export const toggle = (summary: string, settings: OptionSettings = {}): Option<boolean | undefined> => ({
  ...base,
  summary,
  negatable: true,
  parse: () => true,
  ...settings,
});
export const text = (metavar: string, summary: string, settings: OptionSettings = {}): Option<string | undefined> => ({
  ...base,
  summary,
  metavar,
  ...asText(settings),
});
export const requiredText = (metavar: string, summary: string, settings: OptionSettings = {}): Option<string> => ({
  ...base,
  summary,
  metavar,
  required: true,
  ...asText(settings),
});
const asList = <Settings extends { parse: Check }>({ parse, ...settings }: Settings) => ({
  parse: (value: string, name: string): string[] => [parse(value, name)],
  ...settings,
});
/** A repeatable option: always a list, empty unless passed. */
export const texts = (metavar: string, summary: string, settings: OptionSettings = {}): Option<string[]> => ({
  ...base,
  summary,
  metavar,
  repeatable: true,
  ...asList(asText(settings)),
});
/** The error for a value other than these words, which suggests the one that was probably meant. */
export function invalidChoice(words: readonly string[], value: string, name: string): UsageError {
  const suggestion = nearest(value, words);
  const hint = suggestion === undefined ? undefined : `Did you mean ${suggestion}?`;
  return new UsageError(`${name} must be ${wordList(words, 'or')}, not "${value}".`, hint);
}

export const choice = <const Words extends readonly string[]>(
  words: Words,
  summary: string,
  settings: OptionSettings & { metavar?: string } = {},
): Option<Words[number] | undefined> => ({
  ...base,
  summary,
  metavar: words.join('|'),
  choices: words,
  parse: (value, name) => {
    if (words.includes(value)) return value as Words[number];
    throw invalidChoice(words, value, name);
  },
  ...settings,
});
/** The same as a required option. */
export const requiredChoice = <const Words extends readonly string[]>(
  words: Words,
  summary: string,
  settings: { metavar?: string } = {},
): Option<Words[number]> => ({ ...choice(words, summary, settings), required: true }) as Option<Words[number]>;
/**
 * A repeatable option whose values are chosen from several words; they can also be passed together, separated by commas or spaces.
 * @param aliases other words that are accepted, and their meaning
 */
export const choices = <const Words extends readonly string[]>(
  words: Words,
  metavar: string,
  summary: string,
  aliases: Readonly<Record<string, Words[number]>> = {},
): Option<Words[number][]> => ({
  ...base,
  summary,
  metavar,
  repeatable: true,
  choices: words,
  parse: (value, name) =>
    value
      .split(/[\s,]+/)
      .filter((word) => word !== '')
      .map((word) => {
        const target = Object.hasOwn(aliases, word) ? aliases[word] : word;
        if (words.includes(target as Words[number])) return target as Words[number];
        throw invalidChoice(words, word, name);
      }),
});
/** A whole number within limits. */
export const integer = (metavar: string, summary: string, limits: { minimum: number; maximum?: number }): Option<number | undefined> => ({
  ...base,
  summary,
  metavar,
  parse: (value, name) => {
    const number = /^-?\d+$/.test(value) ? Number(value) : Number.NaN;
    if (number >= limits.minimum && number <= (limits.maximum ?? Number.MAX_SAFE_INTEGER)) return number;
    const range = limits.maximum === undefined ? `${limits.minimum} or more` : `${limits.minimum} to ${limits.maximum}`;
    throw new UsageError(`${name} must be a whole number, ${range}, not "${value}".`);
  },
});
/** A duration such as `1m30s`, validated but not converted: settings store durations as text too. */
export const duration = (summary: string): Option<string | undefined> => ({
  ...base,
  summary,
  metavar: 'DURATION',
  parse: (value, name) => {
    if (parseDuration(value) !== undefined) return value;
    throw new UsageError(`${name} must be a duration such as 500ms, 30s, 5m, 2h, or 7d, not "${value}".`);
  },
});

/** A moment as the user wrote it; a relative one is resolved when the clock is read. */
export interface Moment {
  /** ISO 8601 in UTC. */
  iso(now: number): string;
}
/** A moment: a date, a date-time, `yesterday`, or how long ago. See base/moment.ts. */
export const dateTime = (summary: string): Option<Moment | undefined> => ({
  ...base,
  summary,
  metavar: 'TIME',
  parse: (value, name) => {
    if (parseMoment(value, 0) === undefined) throw new UsageError(`${name} must be a time such as ${momentForms}, not "${value}".`);
    return { iso: (now) => new Date(parseMoment(value, now) as number).toISOString() };
  },
});

export type Arguments = Record<string, Argument>;
export type Options = Record<string, Option>;
type Values<Specs extends Record<string, { value?: unknown }>> = {
  [Name in keyof Specs]: Specs[Name] extends { value?: infer Value } ? Value : never;
};

/** The input of `run`: the arguments and options by name. */
export type CommandInput<A extends Arguments, O extends Options> = Values<A> & Values<O>;

/** The summary of an option, followed by its choices unless its summary or metavar lists them, and by its aliases. */
export function optionSummary({ summary, metavar, choices, aliases = [] }: Option): string {
  const listsChoices = (text: string): boolean => (choices ?? []).every((word) => text.includes(word));
  const fullSummary =
    choices === undefined || listsChoices(summary) || listsChoices(metavar ?? '') ? summary : `${summary}: ${choices.join(', ')}`;
  return aliases.length === 0 ? fullSummary : `${fullSummary} (alias: ${aliases.map(flagName).join(', ')})`;
}

/** `webhookUrl` -> `--webhook-url` */
export const flagName = (key: string): string => `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
