/**
 * A command is data plus a function. The definition feeds the parser, help, completions, the manual,
 * `aops commands --json` and the tests that loop over every command.
 */

import { parseDuration } from '../base/duration.ts';
import { type ExitCode, exitCodes, UsageError } from '../base/errors.ts';
import { momentForms, parseMoment } from '../base/moment.ts';
import { nearest } from '../base/nearest.ts';
import type { OperationId } from '../interface/operations.ts';
import type { Check } from './checks.ts';
import type { RemoteSource } from './completion/sources.ts';
import type { Context } from './context.ts';
import type { AnyOutput, Output } from './output.ts';
import type { ResultShape } from './result.ts';

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
export const flag = (summary: string, extras: OptionExtras = {}): Option<boolean> => ({ ...base, summary, parse: () => true, ...extras });
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

export interface Example {
  /** The command line, without a prompt sign. */
  command: string;
  /** What it is for. */
  text: string;
}

export interface Command<A extends Arguments = Arguments, O extends Options = Options, Result = unknown> {
  /** One line, without a full stop. */
  readonly summary: string;
  /** More, in paragraphs. */
  readonly description?: string;
  readonly arguments?: A;
  /** Keys in camelCase; the flags are their kebab-case. */
  readonly options?: O;
  /** Operations of the contract that it may call. */
  readonly operations?: readonly OperationId[];
  /** Changes something on the service: takes --idempotency-key and --dry-run. */
  readonly mutates?: boolean;
  /** Destroys something: asks first on a terminal, needs --yes elsewhere. */
  readonly destructive?: boolean;
  /** Exit codes beside those that every command may have. */
  readonly exits?: readonly ExitCode[];
  readonly examples: readonly Example[];
  readonly hidden?: boolean;
  /** The fields of the result, or of its rows; see result.ts. Goes with `output`. */
  readonly result?: ResultShape;
  /** How the result is shown to a person. Absent for commands that write as they go or return nothing. */
  readonly output?: Output<Result> & AnyOutput;
  /** Resolves to what is printed, or to undefined when everything was written as it came. */
  run(context: Context, input: CommandInput<A, O>): Promise<Result | undefined>;
}

/** Fixes the types of a command definition. */
export const defineCommand = <const A extends Arguments, const O extends Options, Result>(
  command: Command<A, O, Result>,
): Command<A, O, Result> => command;

/** A command whose own types do not matter to the reader: the parser, help, docs. */
// biome-ignore lint/suspicious/noExplicitAny: a list of commands has no common argument type
export type AnyCommand = Command<any, any, any>;

/** Loads a command's module; its default export is the definition. */
export type CommandLoader = () => Promise<{ default: AnyCommand }>;

/** A group of commands and of further groups; `runs`, `webhooks secret`. Loaded at start, so it holds names alone. */
export interface Group {
  readonly summary: string;
  readonly commands: Readonly<Record<string, CommandLoader | Group>>;
  /** The title it stands under in the overview, on the first level. */
  readonly section?: string;
}

export const defineGroup = (group: Group): Group => group;

/** The summary of an option, with the words that it takes where neither its summary nor its metavar lists them. */
export function optionSummary({ summary, metavar, choices }: Option): string {
  const listed = (text: string): boolean => (choices ?? []).every((word) => text.includes(word));
  return choices === undefined || listed(summary) || listed(metavar ?? '') ? summary : `${summary}: ${choices.join(', ')}`;
}

/** `webhookUrl` -> `--webhook-url` */
export const flagName = (key: string): string => `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** Exit codes a command may end with, without the ones that need no word (0, 1, 130). */
export function exitsOf(command: AnyCommand): ExitCode[] {
  const codes = new Set<ExitCode>([exitCodes.usage, ...(command.exits ?? [])]);
  if (command.operations?.length) {
    for (const code of [
      exitCodes.notFound,
      exitCodes.auth,
      exitCodes.forbidden,
      exitCodes.rateLimited,
      exitCodes.unavailable,
      exitCodes.timeout,
    ])
      codes.add(code);
  }
  if (command.mutates) for (const code of [exitCodes.conflict, exitCodes.outcomeUnknown]) codes.add(code);
  return [...codes].sort((a, b) => a - b);
}
