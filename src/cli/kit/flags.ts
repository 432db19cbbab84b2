/** Arguments and options of a command: what they are called, what they accept, and how their text becomes a value. */
import { parseDuration } from '../../base/duration.ts';
import { UsageError } from '../../base/errors.ts';
import { momentForms, parseMoment } from '../../base/moment.ts';
import { nearest } from '../../base/nearest.ts';
import type { Check } from './checks.ts';

/** What shell completion reads from the service; `commands/completion/sources.ts` says how. */
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

/** Where shell completion finds the values of an argument or option. */
export type CompletionSource = RemoteSource | 'cases' | 'profiles' | 'settings' | 'shells' | 'files' | 'directories';

/** Runs that a command can do something with. */
export type PickedRuns = 'waiting' | 'active';

/** How a person picks a value that they left out; which values there are follows from `complete`. */
export interface PickExtras {
  /** Only these runs. */
  readonly runs?: PickedRuns;
  /** For an argument that is not required: options that make it needless. */
  readonly unless?: readonly string[];
  /** Whether Enter alone may not pick, as in commands that destroy something. */
  readonly careful?: true;
}

/** A positional argument. */
export interface Argument<Value = unknown> {
  readonly summary: string;
  readonly required: boolean;
  readonly variadic: boolean;
  readonly complete?: CompletionSource;
  readonly pick?: PickExtras;
  /** Applied to each value before the command runs. */
  readonly check?: Check;
  /** Type only. */
  readonly value?: Value;
}

/** An option, and how its text becomes a value. */
export interface Option<Value = unknown> {
  readonly summary: string;
  /** The word for the value in help, or undefined for a boolean flag. */
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
  readonly pick?: PickExtras;
  /** Not in help, completion or the manual. */
  readonly hidden?: boolean;
  /** @throws UsageError naming the flag */
  readonly parse: (text: string, flag: string) => Value;
  /** Type only. */
  readonly value?: Value;
}

interface ArgumentExtras {
  complete?: CompletionSource;
  pick?: PickExtras;
  /** What the value has to be; see checks.ts. */
  check?: Check;
}
interface OptionExtras extends ArgumentExtras {
  short?: string;
  hidden?: boolean;
}
interface FlagExtras extends OptionExtras {
  aliases?: readonly string[];
}

export const argument = (summary: string, extras: ArgumentExtras = {}): Argument<string> => ({
  summary,
  required: true,
  variadic: false,
  ...extras,
});
export const optionalArgument = (summary: string, extras: ArgumentExtras = {}): Argument<string | undefined> => ({
  summary,
  required: false,
  variadic: false,
  ...extras,
});
export const manyArguments = (summary: string, extras: ArgumentExtras = {}): Argument<string[]> => ({
  summary,
  required: true,
  variadic: true,
  ...extras,
});

/** Any number of them, none included. */
export const anyArguments = (summary: string, extras: ArgumentExtras = {}): Argument<string[]> => ({
  summary,
  required: false,
  variadic: true,
  ...extras,
});

const base = { required: false, repeatable: false, negatable: false } as const;

/** An option with a text as its value, as far as the extras allow it. */
const asText = ({ check, ...extras }: OptionExtras) => ({ parse: check ?? ((value: string): string => value), ...extras });

/** `--flag`: false unless given. */
export const flag = (summary: string, extras: FlagExtras = {}): Option<boolean> => ({ ...base, summary, parse: () => true, ...extras });
/** `--flag` and `--no-flag`: undefined unless given. */
export const toggle = (summary: string, extras: OptionExtras = {}): Option<boolean | undefined> => ({
  ...base,
  summary,
  negatable: true,
  parse: () => true,
  ...extras,
});
export const text = (metavar: string, summary: string, extras: OptionExtras = {}): Option<string | undefined> => ({
  ...base,
  summary,
  metavar,
  ...asText(extras),
});
export const requiredText = (metavar: string, summary: string, extras: OptionExtras = {}): Option<string> => ({
  ...base,
  summary,
  metavar,
  required: true,
  ...asText(extras),
});
const asList = <Extras extends { parse: Check }>({ parse, ...extras }: Extras) => ({
  parse: (value: string, name: string): string[] => [parse(value, name)],
  ...extras,
});
/** A repeatable option: always a list, empty unless given. */
export const texts = (metavar: string, summary: string, extras: OptionExtras = {}): Option<string[]> => ({
  ...base,
  summary,
  metavar,
  repeatable: true,
  ...asList(asText(extras)),
});
function notOneOf(words: readonly string[], given: string, name: string): UsageError {
  const meant = nearest(given, words);
  const hint = meant === undefined ? undefined : `Did you mean ${meant}?`;
  return new UsageError(`${name} takes ${words.slice(0, -1).join(', ')} or ${words.at(-1)}, not "${given}".`, hint);
}

export const choice = <const Words extends readonly string[]>(
  words: Words,
  summary: string,
  extras: OptionExtras & { metavar?: string } = {},
): Option<Words[number] | undefined> => ({
  ...base,
  summary,
  metavar: words.join('|'),
  choices: words,
  parse: (value, name) => {
    if (words.includes(value)) return value as Words[number];
    throw notOneOf(words, value, name);
  },
  ...extras,
});
/** The same, and it has to be given. */
export const requiredChoice = <const Words extends readonly string[]>(words: Words, summary: string): Option<Words[number]> =>
  ({ ...choice(words, summary), required: true }) as Option<Words[number]>;
/**
 * A repeatable option whose values are some of several words; they may also be given together, with commas or spaces.
 * @param aliases other words that are understood, and what they mean
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
        const meant = Object.hasOwn(aliases, word) ? aliases[word] : word;
        if (words.includes(meant as Words[number])) return meant as Words[number];
        throw notOneOf(words, word, name);
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
    throw new UsageError(`${name} takes a whole number, ${range}, not "${value}".`);
  },
});
/** A duration such as `1m30s`, checked and kept as it was written: the settings hold durations as text too. */
export const duration = (summary: string): Option<string | undefined> => ({
  ...base,
  summary,
  metavar: 'DURATION',
  parse: (value, name) => {
    if (parseDuration(value) !== undefined) return value;
    throw new UsageError(`${name} takes a duration such as 500ms, 30s, 5m, 2h or 7d, not "${value}".`);
  },
});

/** A moment as it was written; a relative one has its time when the clock is asked. */
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
    if (parseMoment(value, 0) === undefined) throw new UsageError(`${name} takes a time such as ${momentForms}, not "${value}".`);
    return { iso: (now) => new Date(parseMoment(value, now) as number).toISOString() };
  },
});

export type Arguments = Record<string, Argument>;
export type Options = Record<string, Option>;
type Values<Specs extends Record<string, { value?: unknown }>> = {
  [Name in keyof Specs]: Specs[Name] extends { value?: infer Value } ? Value : never;
};

/** What `run` is given: the arguments and options by name. */
export type CommandInput<A extends Arguments, O extends Options> = Values<A> & Values<O>;

/** The summary of an option, followed by its choices unless its summary or metavar lists them, and by its aliases. */
export function optionSummary({ summary, metavar, choices, aliases = [] }: Option): string {
  const listed = (text: string): boolean => (choices ?? []).every((word) => text.includes(word));
  const full = choices === undefined || listed(summary) || listed(metavar ?? '') ? summary : `${summary}: ${choices.join(', ')}`;
  return aliases.length === 0 ? full : `${full} (alias: ${aliases.map(flagName).join(', ')})`;
}

/** `webhookUrl` -> `--webhook-url` */
export const flagName = (key: string): string => `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
