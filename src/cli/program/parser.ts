/** Turns command definitions into commander parsers, and their results into the input of a command. */
import { Command as Parser, Option as ParserOption } from 'commander';
import { UsageError } from '../../base/errors.ts';
import type { AnyCommand } from '../kit/command.ts';
import { type Arguments, type CompletionSource, flagName, type Option, type Options, optionSummary } from '../kit/flags.ts';
import { changeFlags } from '../kit/global-flags.ts';
import { type CommandHelp, helpSections } from './help.ts';

/** A parser that throws instead of printing errors or exiting. */
export function newParser(name: string, summary: string): Parser {
  return (
    new Parser(name)
      .description(summary)
      .exitOverride()
      .showSuggestionAfterError(false)
      .helpOption('-h, --help', 'Show this help')
      .helpCommand(false)
      .allowExcessArguments(false)
      // Descriptions are wrapped even next to long flags: by default, commander leaves fewer than 40 columns to the terminal, which breaks words.
      .configureHelp({ minWidthToWrap: 20, optionTerm, commandUsage })
  );
}

/** The usage line with only the name of the command: commander would write `respond|answer`. */
function commandUsage(parser: Parser): string {
  const words: string[] = [];
  for (let current: Parser | null = parser; current; current = current.parent) words.unshift(current.name());
  return `${words.join(' ')} ${parser.usage()}`;
}

/** All options of a command, including those of every command that changes something. */
export const optionsOf = (command: AnyCommand): Options => ({ ...(command.options ?? {}), ...(command.mutates ? changeFlags : {}) });

/**
 * The parser of one command. It accepts missing values, because they can be picked on a terminal (missing.ts). Only help shows which
 * are required.
 * @param help set when the help is requested
 */
export function commandParser(
  name: string,
  command: AnyCommand,
  run: (positional: unknown[], options: Record<string, unknown>) => Promise<void>,
  help?: CommandHelp,
): Parser {
  const parser = newParser(name, command.summary);
  for (const [argumentName, { summary, required, variadic }] of Object.entries(command.arguments ?? {}) as [
    string,
    { summary: string; required: boolean; variadic: boolean },
  ][]) {
    const word = argumentWord(argumentName) + (variadic ? '...' : '');
    parser.argument(required && help ? `<${word}>` : `[${word}]`, summary);
  }
  addOptions(parser, help ? optionsOf(command) : withoutDemands(optionsOf(command)));
  parser.addHelpText('after', () => helpSections(command, parser.configureOutput().getOutHelpWidth?.() ?? 80, help));
  parser.action(async (...values: unknown[]) => run(values.slice(0, -2), parser.opts()));
  return parser;
}

const withoutDemands = (options: Options): Options =>
  Object.fromEntries(Object.entries(options).map(([key, option]) => [key, { ...option, required: false }]));

/** `requestId` -> `REQUEST-ID` */
export const argumentWord = (name: string): string => flagName(name).slice(2).toUpperCase();

/** Options that also have a `no-` form. */
const negatable = new WeakSet<ParserOption>();

/** The form used in the manual: `--[no-]enabled`. */
const optionTerm = (option: ParserOption): string => (negatable.has(option) ? option.flags.replace('--', '--[no-]') : option.flags);

export function addOptions(parser: Parser, options: Options): void {
  for (const [key, option] of Object.entries(options)) {
    const newOption = parserOption(flagName(key), key, option);
    if (option.negatable) negatable.add(newOption);
    parser.addOption(newOption);
    if (option.negatable) parser.addOption(new ParserOption(flagName(`no-${key}`), `Not ${flagName(key)}`).hideHelp());
    for (const alias of option.aliases ?? []) parser.addOption(new ParserOption(flagName(alias)).implies({ [key]: true }).hideHelp());
  }
}

function parserOption(long: string, key: string, option: Option): ParserOption {
  const flags = `${option.short ? `-${option.short}, ` : ''}${long}${option.metavar === undefined ? '' : ` <${option.metavar}>`}`;
  const result = new ParserOption(flags, optionSummary(option));
  if (option.metavar !== undefined) {
    result.argParser((argument: string, previous: unknown) => {
      // `-o=json` is accepted as in kubectl and gh: commander includes the `=` in the value of a short flag.
      const value = option.short !== undefined && argument.startsWith('=') ? argument.slice(1) : argument;
      if (value === '' && (namesSomething(option.complete) || option.metavar?.startsWith('FILE'))) throw emptyValue(flagName(key));
      const parsed = option.parse(value, flagName(key));
      return option.repeatable ? [...((previous as unknown[] | undefined) ?? []), ...(parsed as unknown[])] : parsed;
    });
  }
  if (option.required) result.makeOptionMandatory();
  if (option.hidden) result.hideHelp();
  return result;
}

/**
 * Refuses an option in place of the value of another one: in a script, the value was an unset variable. Otherwise, `--message --watch`
 * would start a run with the message "--watch".
 * @throws UsageError
 */
export function requireValues(args: readonly string[], options: Options): void {
  const takesValue = new Map([['--help', false], ['-h', false], ...Object.entries(options).flatMap(wordsOf)] as [string, boolean][]);
  for (let index = 0; index < args.length && args[index] !== '--'; index += 1) {
    const word = args[index] as string;
    if (takesValue.get(word) !== true) continue;
    index += 1;
    const next = args[index];
    if (next === undefined || !takesValue.has(next.split('=', 1)[0] as string)) continue;
    const joined = word.startsWith('--') ? `${word}=${next}` : `${word}${next}`;
    throw new UsageError(
      `${word} needs a value, but the option ${next} follows.`,
      `If the value comes from a variable, the variable is not set. If it is the value, write \`${joined}\`.`,
    );
  }
}

/** The words that an option is written with, and whether a value follows them. */
function wordsOf([key, { short, metavar, negatable, aliases = [] }]: [string, Option]): [string, boolean][] {
  const names = [key, ...(negatable ? [`no-${key}`] : []), ...aliases].map(flagName);
  return [...names, ...(short === undefined ? [] : [`-${short}`])].map((word) => [word, metavar !== undefined]);
}

/** The values of options by their keys: lists are never undefined, and booleans only if they can be negated. */
export function optionValues(options: Options, parsed: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).map(([key, option]) => [key, optionValue(key, option, parsed)]));
}

function optionValue(key: string, option: Option, parsed: Record<string, unknown>): unknown {
  if (option.repeatable) return parsed[key] ?? [];
  if (option.metavar !== undefined || option.negatable) return parsed[key];
  // commander reads --no-input as "input: false".
  const negation = /^no([A-Z])(.*)$/.exec(key);
  return negation ? parsed[(negation[1] as string).toLowerCase() + negation[2]] === false : parsed[key] === true;
}

/** The values of arguments by their names. @throws UsageError for an empty value that names something, or one that its check rejects */
export function argumentValues(command: AnyCommand, positional: unknown[]): Record<string, unknown> {
  const entries = Object.entries((command.arguments ?? {}) as Arguments).map(([name, { required, complete, check }], index) => {
    const value = positional[index];
    if (value === undefined) return [name, value];
    const word = argumentWord(name);
    const checkValue = (value: string): string => {
      if (value === '' && (required || namesSomething(complete))) throw emptyValue(word);
      return check ? check(value, word) : value;
    };
    return [name, Array.isArray(value) ? value.map(checkValue) : checkValue(value as string)];
  });
  return Object.fromEntries(entries) as Record<string, unknown>;
}

/** A text may come from a file and be empty. */
const notNames: readonly (CompletionSource | undefined)[] = [undefined, 'files'];
/** Whether the value names something: no ID or name is empty, and an empty path would be the current folder. */
const namesSomething = (source: CompletionSource | undefined): boolean => !notNames.includes(source);

/** In a script, an empty value usually means an unset variable: it is reported as such, rather than as something that was not found. */
const emptyValue = (name: string): UsageError =>
  new UsageError(`${name} is empty.`, 'If the value comes from a variable, the variable is not set.');
