/** All commands as data: for `aops commands --json`, completion, the manual, and tests over every command. */
import { type OperationId, operation } from '../../interface/operations.ts';
import { type AnyCommand, exitsOf } from '../kit/command.ts';
import { type CompletionSource, flagName, type Option, optionSummary } from '../kit/flags.ts';
import { globalFlags } from '../kit/global-flags.ts';
import { aliasesOf, type Entries, isGroup, isHidden, loaderOf, namedEntries } from '../kit/tree.ts';
import { argumentWord, optionsOf } from './parser.ts';
import { type ResultFields, resultFields } from './result-fields.ts';

export interface DescribedOption {
  flag: string;
  short: string | null;
  /** Other spellings of the flag. */
  aliases: string[];
  /** The placeholder for the value; null for a boolean flag. */
  value: string | null;
  summary: string;
  required: boolean;
  repeatable: boolean;
  negatable: boolean;
  choices: readonly string[] | null;
  complete: CompletionSource | null;
}

export interface DescribedCommand {
  /** The words that call it: `runs start`. */
  id: string;
  /** Other words that call it: `runs answer` for `runs respond`. */
  aliases: string[];
  summary: string;
  description: string | null;
  arguments: { name: string; summary: string; required: boolean; variadic: boolean; complete: CompletionSource | null }[];
  options: DescribedOption[];
  operations: { id: OperationId; method: string; path: string }[];
  mutates: boolean;
  destructive: boolean;
  exit_codes: number[];
  /** The result that --json prints; null when the command prints none. */
  result: ResultFields | null;
  examples: { command: string; text: string }[];
}

export interface LoadedCommand {
  /** The words that call it. */
  path: string[];
  /** Other words for the last of them. */
  aliases: string[];
  command: AnyCommand;
}

/** Every command with its definition, in the order of the help, except hidden ones. */
export async function loadAllCommands(tree: Entries, above: readonly string[] = []): Promise<LoadedCommand[]> {
  const loadedCommands: LoadedCommand[] = [];
  for (const [name, entry] of namedEntries(tree)) {
    const path = [...above, name];
    if (isGroup(entry)) loadedCommands.push(...(await loadAllCommands(entry.commands, path)));
    else if (!isHidden(entry)) loadedCommands.push({ path, aliases: aliasesOf(tree, name), command: (await loaderOf(entry)()).default });
  }
  return loadedCommands;
}

export function describeOption(key: string, option: Option): DescribedOption {
  const { short, aliases = [], metavar, required, repeatable, negatable, choices, complete } = option;
  return {
    flag: flagName(key),
    short: short ? `-${short}` : null,
    aliases: aliases.map(flagName),
    value: metavar ?? null,
    summary: optionSummary(option),
    required,
    repeatable,
    negatable,
    choices: choices ?? null,
    complete: complete ?? null,
  };
}

export const describeOptions = (options: Record<string, Option>): DescribedOption[] =>
  Object.entries(options)
    .filter(([, option]) => !option.hidden)
    .map(([key, option]) => describeOption(key, option));

export const describedGlobalFlags = (): DescribedOption[] => describeOptions(globalFlags);

export function describeCommand({ path, aliases, command }: LoadedCommand): DescribedCommand {
  return {
    id: path.join(' '),
    aliases: aliases.map((alias) => [...path.slice(0, -1), alias].join(' ')),
    summary: command.summary,
    description: command.description ?? null,
    arguments: Object.entries(
      (command.arguments ?? {}) as Record<string, { summary: string; required: boolean; variadic: boolean; complete?: CompletionSource }>,
    ).map(([name, { summary, required, variadic, complete }]) => ({
      name: argumentWord(name),
      summary,
      required,
      variadic,
      complete: complete ?? null,
    })),
    options: describeOptions(optionsOf(command)),
    operations: (command.operations ?? []).map((id: OperationId) => ({ id, method: operation(id).method, path: operation(id).path })),
    mutates: command.mutates ?? false,
    destructive: command.destructive ?? false,
    exit_codes: exitsOf(command),
    result: resultFields(command) ?? null,
    examples: [...command.examples],
  };
}
