import { settingDefinitions } from '../config/settings.ts';
import type { Context } from './context.ts';
import { type AnyCommand, type CompletionSource, defineCommand, flagName, manyArguments, type Option, type Options } from './define.ts';
import { globalFlags } from './global-flags.ts';
import { commandTree } from './index.ts';
import { optionsOf } from './parser.ts';
import { type Entries, follow, isHidden, summaryOf } from './tree.ts';

/** What may stand at the cursor: words with their meaning, and whether the shell should offer files. */
interface Candidates {
  words: [word: string, summary: string][];
  files?: 'files' | 'directories';
}

/**
 * Called by the completion scripts with the words of the line, the last one being completed. Answers one candidate a
 * line, `WORD<tab>SUMMARY`; a last line `:files` or `:directories` leaves the rest to the shell.
 */
export default defineCommand({
  summary: 'Complete a command line',
  hidden: true,
  arguments: { words: manyArguments('The words of the line') },
  examples: [{ command: 'aops __complete -- runs st', text: 'What could follow' }],
  async run(context, input) {
    const current = input.words.at(-1) ?? '';
    const { words, files } = await candidates(context, commandTree, input.words.slice(0, -1), current);
    for (const [word, summary] of words) if (word.startsWith(current)) await context.terminal.line(`${word}\t${summary}`);
    if (files) await context.terminal.line(`:${files}`);
  },
});

/** What may stand at the cursor after the words `before` it. */
export async function candidates(context: Context, tree: Entries, before: readonly string[], current: string): Promise<Candidates> {
  const { rest, entries, load } = follow(tree, plainWords(before));
  if (load) return inCommand(context, (await load()).default, before, rest, current);
  if (!entries || rest.length > 0) return { words: [] };
  const value = openOption(globalFlags, before);
  if (value) return optionValuesOf(context, value);
  if (current.startsWith('-')) return { words: flagWords(globalFlags) };
  const shown = Object.entries(entries).filter(([, entry]) => !isHidden(entry));
  return { words: await Promise.all(shown.map(async ([name, entry]): Promise<[string, string]> => [name, await summaryOf(entry)])) };
}

function inCommand(
  context: Context,
  command: AnyCommand,
  before: readonly string[],
  operands: readonly string[],
  current: string,
): Candidates {
  const options = { ...globalFlags, ...optionsOf(command) };
  const value = openOption(options, before);
  if (value) return optionValuesOf(context, value);
  if (current.startsWith('-')) return { words: flagWords(options) };
  const specs = Object.values((command.arguments ?? {}) as Record<string, { variadic: boolean; complete?: CompletionSource }>);
  const values = operands.filter((_, index) => !isValueOfOption(options, before, operands, index));
  const argument = specs[values.length] ?? (specs.at(-1)?.variadic ? specs.at(-1) : undefined);
  return sourceOf(context, argument?.complete);
}

/** Words that are no flags. A flag's value among them is told apart by `isValueOfOption`. */
function plainWords(words: readonly string[]): string[] {
  return words.filter((word, index) => !word.startsWith('-') && !openOption(globalFlags, words.slice(0, index)));
}

function isValueOfOption(options: Options, before: readonly string[], operands: readonly string[], index: number): boolean {
  const at = before.indexOf(operands[index] as string);
  return at > 0 && openOption(options, before.slice(0, at)) !== undefined;
}

/** The option whose value comes next, if the last word is one that takes a value. */
function openOption(options: Options, words: readonly string[]): Option | undefined {
  const last = words.at(-1) ?? '';
  const [, option] =
    Object.entries(options).find(([key, { short }]) => last === flagName(key) || (short !== undefined && last === `-${short}`)) ?? [];
  return option?.metavar === undefined ? undefined : option;
}

function flagWords(options: Options): [string, string][] {
  return Object.entries(options).flatMap(([key, option]): [string, string][] => {
    if (option.hidden) return [];
    const word: [string, string] = [flagName(key), option.summary];
    return option.negatable ? [word, [flagName(`no-${key}`), `Not ${flagName(key)}`]] : [word];
  });
}

function optionValuesOf(context: Context, option: Option): Candidates {
  return option.choices ? { words: option.choices.map((choice): [string, string] => [choice, '']) } : sourceOf(context, option.complete);
}

/** Values that are known without asking the service: completion never waits for a network. */
function sourceOf(context: Context, source: CompletionSource | undefined): Candidates {
  switch (source) {
    case 'files':
    case 'directories':
      return { words: [], files: source };
    case 'profiles':
      return { words: context.store.profiles().map(({ name, base_url }): [string, string] => [name, base_url]) };
    case 'settings':
      return { words: settingWords() };
    case 'runs':
      return { words: [['@latest', 'the newest run']] };
    default:
      return { words: [] };
  }
}

const settingWords = (): [string, string][] => settingDefinitions.map(({ key, description }) => [key, description]);
