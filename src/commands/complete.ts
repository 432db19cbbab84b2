import { settingDefinitions } from '../config/settings.ts';
import type { Context } from './context.ts';
import { type AnyCommand, type CompletionSource, defineCommand, flagName, manyArguments, type Option, type Options } from './define.ts';
import { globalFlags } from './global-flags.ts';
import { commandTree, isGroup } from './index.ts';
import { optionsOf } from './parser.ts';

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
    const { words, files } = await candidates(context, input.words.slice(0, -1), current);
    for (const [word, summary] of words) if (word.startsWith(current)) await context.terminal.line(`${word}\t${summary}`);
    if (files) await context.terminal.line(`:${files}`);
  },
});

async function candidates(context: Context, before: readonly string[], current: string): Promise<Candidates> {
  const operands = plainWords(before);
  const [first = '', second = ''] = operands;
  const entry = Object.hasOwn(commandTree, first) ? commandTree[first] : undefined;
  if (!entry) return operands.length > 0 ? { words: [] } : firstLevel(before, current, context);
  if (!isGroup(entry)) return inCommand(context, (await entry.load()).default, before, operands.slice(1), current);
  const load = Object.hasOwn(entry.commands, second) ? entry.commands[second] : undefined;
  if (load) return inCommand(context, (await load()).default, before, operands.slice(2), current);
  if (second !== '') return { words: [] };
  if (current.startsWith('-')) return { words: flagWords(globalFlags) };
  const verbs = await Promise.all(
    Object.entries(entry.commands).map(async ([verb, loadVerb]): Promise<[string, string]> => [verb, (await loadVerb()).default.summary]),
  );
  return { words: verbs };
}

function firstLevel(before: readonly string[], current: string, context: Context): Candidates {
  const value = openOption(globalFlags, before);
  if (value) return optionValuesOf(context, value);
  if (current.startsWith('-')) return { words: flagWords(globalFlags) };
  return {
    words: Object.entries(commandTree).flatMap(([name, entry]): [string, string][] =>
      'hidden' in entry && entry.hidden ? [] : [[name, entry.summary]],
    ),
  };
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
