/** What completion has to know of the commands. */
import type { AnyCommand } from '../../cli/kit/command.ts';
import { type Argument, type Arguments, type CompletionSource, flagName, type Option, type Options } from '../../cli/kit/flags.ts';
import { globalFlags } from '../../cli/kit/global-flags.ts';
import { type Entries, isAlias, isGroup, isHidden, loaderOf, type NamedEntry, summaryOf } from '../../cli/kit/tree.ts';
import type { Word } from '../../cli/picking/sources.ts';
import { optionsOf } from '../../cli/program/parser.ts';
import { resultFields } from '../../cli/program/result-fields.ts';
import { topics } from '../../cli/program/topics/topics.ts';
import { settingDefinitions } from '../../config/settings.ts';
import { webhookEventKinds } from '../../interface/webhook-events.ts';
import { shells } from './scripts.ts';

/** Values that depend on the machine or on the service, so that they are looked up when they are completed. */
export type LookedUpSource = Exclude<CompletionSource, 'settings' | 'shells' | 'events' | 'cases' | 'files' | 'directories'>;

/** The values of an argument or a flag: always the same words, those of a source, or paths, which the shell offers. */
export type Values = Word[] | LookedUpSource | 'files' | 'directories';

export interface FlagWords {
  /** With its dashes, like all names of flags here. */
  readonly name: string;
  readonly short?: string;
  readonly summary: string;
  readonly hidden?: true;
  /** Other names, including `--no-…`, with their summaries. */
  readonly negation?: Word;
  readonly aliases?: readonly string[];
  /** Missing for a flag without a value; no words if the value can be anything. */
  readonly values?: Values;
}

/** One command. */
export interface LeafWords {
  readonly summary: string;
  readonly hidden?: true;
  /** The flags that not every command has. */
  readonly flags: readonly FlagWords[];
  readonly arguments: readonly Values[];
  /** Whether the last argument can be repeated. */
  readonly variadic?: true;
  /** The fields of the result with their types. */
  readonly fields: Word[];
}

export interface GroupWords {
  readonly summary: string;
  readonly hidden?: true;
  readonly entries: LevelWords;
}

/** The entries of one level: groups, commands, and the names that aliases stand for. */
export type LevelWords = Readonly<Record<string, GroupWords | LeafWords | string>>;

export interface CommandWords {
  readonly entries: LevelWords;
  readonly globalFlags: readonly FlagWords[];
  readonly topics: Word[];
}

/**
 * The words of all commands. Loads all of them; the build replaces this function with one that returns the result, because completion
 * must be faster than typing.
 */
export async function commandWords(tree: () => Entries | Promise<Entries>): Promise<CommandWords> {
  return {
    entries: await levelWords(await tree()),
    globalFlags: flagsOf(globalFlags),
    topics: Object.entries(topics).map(([name, { summary }]): Word => [name, summary]),
  };
}

async function levelWords(entries: Entries): Promise<LevelWords> {
  const words = Object.entries(entries).map(async ([name, entry]) => [name, isAlias(entry) ? entry.aliasOf : await entryWords(entry)]);
  return Object.fromEntries(await Promise.all(words));
}

async function entryWords(entry: NamedEntry): Promise<GroupWords | LeafWords> {
  const hidden = isHidden(entry) ? ({ hidden: true } as const) : {};
  if (isGroup(entry)) return { summary: entry.summary, ...hidden, entries: await levelWords(entry.commands) };
  return { ...leafWords((await loaderOf(entry)()).default), summary: await summaryOf(entry), ...hidden };
}

function leafWords(command: AnyCommand): Omit<LeafWords, 'summary'> {
  const args = Object.values((command.arguments ?? {}) as Arguments);
  return {
    flags: flagsOf(optionsOf(command)),
    arguments: args.map(valuesOf),
    ...(args.at(-1)?.variadic === true && { variadic: true }),
    fields: Object.entries(resultFields(command)?.fields ?? {}),
  };
}

const flagsOf = (options: Options): FlagWords[] =>
  Object.entries(options).map(([key, option]) => ({
    name: flagName(key),
    ...(option.short !== undefined && { short: `-${option.short}` }),
    summary: option.summary,
    ...(option.hidden === true && { hidden: true }),
    ...(option.negatable && { negation: [flagName(`no-${key}`), `Not ${flagName(key)}`] }),
    ...(option.aliases !== undefined && { aliases: option.aliases.map(flagName) }),
    ...(option.metavar !== undefined && { values: valuesOf(option) }),
  }));

function valuesOf({ choices, complete }: Pick<Option & Argument, 'choices' | 'complete'>): Values {
  if (choices !== undefined) return choices.map(withoutSummary);
  switch (complete) {
    case 'settings':
      return settingDefinitions.map(({ key, description }): Word => [key, description]);
    case 'shells':
      return shells.map(withoutSummary);
    case 'events':
      return webhookEventKinds.map(withoutSummary);
    // Cases belong to queues, and the line does not specify one.
    case 'cases':
    case undefined:
      return [];
    default:
      return complete;
  }
}

const withoutSummary = (word: string): Word => [word, ''];
