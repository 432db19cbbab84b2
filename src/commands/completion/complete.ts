import { isUuid } from '../../cli/kit/checks.ts';
import { type AnyCommand, defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { anyArguments, type CompletionSource, flagName, type Option, type Options } from '../../cli/kit/flags.ts';
import { globalFlags } from '../../cli/kit/global-flags.ts';
import { aliasesOf, commandsOf, type Entries, entryOf, follow, isHidden, namedEntries, summaryOf } from '../../cli/kit/tree.ts';
import { optionsOf } from '../../cli/program/parser.ts';
import { settingDefinitions } from '../../config/settings.ts';
import { webhookEventKinds } from '../../interface/webhook-events.ts';

/** The candidates at the cursor: words with their summaries, and whether the shell should offer files. */
interface Candidates {
  words: [word: string, summary: string][];
  files?: 'files' | 'directories';
}

/**
 * Called by the completion scripts with the words of the line, of which the last is being completed. Prints one candidate per
 * line as `WORD<tab>SUMMARY`; a last line `:files` or `:directories` makes the shell complete paths.
 */
export default defineCommand({
  summary: 'Complete a command line',
  hidden: true,
  arguments: { words: anyArguments('The words of the line; the last one can be empty') },
  examples: [{ command: 'aops __complete -- runs st', text: 'Complete "runs st"' }],
  async run(context, input) {
    const { before, current, prefix } = atCursor(input.words);
    const { words, files } = await candidates(context, commandsOf(context), before, current);
    for (const [word, summary] of words)
      if (word.startsWith(current) && isPlain(word)) await context.terminal.line(`${prefix}${word}\t${summary}`);
    if (files) await context.terminal.line(`:${files}`);
  },
});

/**
 * The word at the cursor and those before it. For `--status=wai`, a value of --status is completed: bash passes it as three words;
 * other shells pass one word, which must be replaced as a whole, including its `prefix`.
 */
function atCursor(words: readonly string[]): { before: string[]; current: string; prefix: string } {
  const before = words.slice(0, -1);
  const lastWord = words.at(-1) ?? '';
  const [, flag, value] = /^(--[\w-]+)=(.*)$/.exec(lastWord) ?? [];
  if (flag !== undefined && value !== undefined) return { before: [...before, flag], current: value, prefix: `${flag}=` };
  if (before.at(-1) === '=') before.pop();
  return { before, current: lastWord === '=' ? '' : lastWord, prefix: '' };
}

/** Names with control characters are left out: they do not belong on a command line. */
const isPlain = (word: string): boolean => !/[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u.test(word);

/** The candidates for the word at the cursor, after the words `before` it. */
export async function candidates(context: Context, tree: Entries, before: readonly string[], current: string): Promise<Candidates> {
  const words = await withoutAlias(context, tree, plainWords(before));
  if (words === undefined) return { words: [], files: 'files' };
  if (words[0] === 'help') return helpWords(tree, words.slice(1), current);
  const { rest, entries, load } = follow(tree, words);
  if (load) return inCommand(context, (await load()).default, before, rest, current);
  if (!entries || rest.length > 0) return { words: [] };
  const value = openOption(globalFlags, before);
  if (value) return optionValuesOf(context, value, { before, current, of: undefined });
  if (current.startsWith('-')) return { words: flagWords(globalFlags, current) };
  const added = words.length > 0 ? [] : await addedWords(context, tree);
  return { words: [...(await entryWords(entries, current)), ...added] };
}

/** The user's aliases and extensions. */
async function addedWords(context: Context, tree: Entries): Promise<[string, string][]> {
  const { userCommands } = await import('../../cli/program/user-commands/resolve.ts');
  const { aliases, extensions } = await userCommands({ env: context.env, platform: context.launcher.platform }, context.store, tree);
  return [
    ...aliases.map(([name, expansion]): [string, string] => [name, `alias for ${expansion}`]),
    ...extensions.map(([name]): [string, string] => [name, `extension aops-${name}`]),
  ];
}

/**
 * The words with an alias replaced by what it stands for; undefined if another program interprets them: an extension, or the shell of
 * an alias.
 */
async function withoutAlias({ store, env, launcher }: Context, tree: Entries, words: string[]): Promise<string[] | undefined> {
  const [word, ...rest] = words;
  if (word === undefined || word === 'help' || entryOf(tree, word) !== undefined) return words;
  const [{ expandAlias, shellLine }, { findExtension }] = await Promise.all([
    import('../../cli/program/user-commands/expand.ts'),
    import('../../cli/program/user-commands/extensions.ts'),
  ]);
  try {
    const aliases = store.aliases();
    const expansion = Object.hasOwn(aliases, word) ? aliases[word] : undefined;
    if (expansion === undefined) return (await findExtension({ env, platform: launcher.platform }, word)) === undefined ? words : undefined;
    return shellLine(expansion) === undefined ? plainWords(expandAlias(word, expansion, rest)) : undefined;
  } catch {
    // An argument of the alias is still missing.
    return words;
  }
}

/** The words of one level, with their summaries. Aliases are offered only where no name begins with `current`. */
async function entryWords(entries: Entries, current: string): Promise<[string, string][]> {
  const visibleEntries = namedEntries(entries).filter(([, entry]) => !isHidden(entry));
  const begun = visibleEntries.some(([name]) => name.startsWith(current));
  const words = visibleEntries.flatMap(([name, entry]) => (begun ? [name] : aliasesOf(entries, name)).map((word) => ({ word, entry })));
  return Promise.all(words.map(async ({ word, entry }): Promise<[string, string]> => [word, await summaryOf(entry)]));
}

/** `aops help`: the commands and the topics. */
async function helpWords(tree: Entries, words: readonly string[], current: string): Promise<Candidates> {
  const { rest, entries } = follow(tree, words);
  if (!entries || rest.length > 0) return { words: [] };
  const { topics } = await import('../../cli/program/topics/topics.ts');
  const more = words.length > 0 ? [] : Object.entries(topics).map(([name, { summary }]): [string, string] => [name, summary]);
  return { words: [...(await entryWords(entries, current)), ...more] };
}

async function inCommand(
  context: Context,
  command: AnyCommand,
  before: readonly string[],
  operands: readonly string[],
  current: string,
): Promise<Candidates> {
  const options = { ...globalFlags, ...optionsOf(command) };
  const value = openOption(options, before);
  const values = operands.filter((_, index) => !isValueOfOption(options, before, operands, index));
  const place: Place = { before, current, of: values[0] };
  if (value === globalFlags.fields) return fieldWords(command, current);
  if (value) return optionValuesOf(context, value, place);
  if (current.startsWith('-')) return { words: flagWords(options, current) };
  const specs = Object.values((command.arguments ?? {}) as Record<string, { variadic: boolean; complete?: CompletionSource }>);
  const argument = specs[values.length] ?? (specs.at(-1)?.variadic ? specs.at(-1) : undefined);
  return sourceOf(context, argument?.complete, place);
}

/** The position to complete. `of` is the first argument, for words that belong to an agent or a queue. */
interface Place {
  before: readonly string[];
  current: string;
  of: string | undefined;
}

/** The words that are not flags. The values of flags among them are recognised by `isValueOfOption`. */
function plainWords(words: readonly string[]): string[] {
  return words.filter((word, index) => !word.startsWith('-') && !openOption(globalFlags, words.slice(0, index)));
}

function isValueOfOption(options: Options, before: readonly string[], operands: readonly string[], index: number): boolean {
  const at = before.indexOf(operands[index] as string);
  return at > 0 && openOption(options, before.slice(0, at)) !== undefined;
}

/** The option whose value comes next, if the last word is an option with a value. */
function openOption(options: Options, words: readonly string[]): Option | undefined {
  const last = words.at(-1) ?? '';
  const [, option] =
    Object.entries(options).find(([key, { short }]) => last === flagName(key) || (short !== undefined && last === `-${short}`)) ?? [];
  return option?.metavar === undefined ? undefined : option;
}

/** The flags with their summaries. Aliases are offered only where no other flag begins with `current`. */
function flagWords(options: Options, current: string): [string, string][] {
  const visibleOptions = Object.entries(options).filter(([, option]) => !option.hidden);
  const words = visibleOptions.flatMap(([key, option]): [string, string][] => {
    const word: [string, string] = [flagName(key), option.summary];
    return option.negatable ? [word, [flagName(`no-${key}`), `Not ${flagName(key)}`]] : [word];
  });
  if (words.some(([word]) => word.startsWith(current))) return words;
  return visibleOptions.flatMap(([, { aliases = [], summary }]) => aliases.map((alias): [string, string] => [flagName(alias), summary]));
}

/** The fields of the command's JSON; the part before the last comma is kept. */
async function fieldWords(command: AnyCommand, current: string): Promise<Candidates> {
  const { resultFields } = await import('../../cli/program/result-fields.ts');
  const before = current.slice(0, current.lastIndexOf(',') + 1);
  const namedValues = new Set(before.split(','));
  const fields = Object.entries(resultFields(command)?.fields ?? {}).filter(([name]) => !namedValues.has(name));
  return { words: fields.map(([name, type]): [string, string] => [before + name, type]) };
}

async function optionValuesOf(context: Context, option: Option, place: Place): Promise<Candidates> {
  if (option.choices) return { words: option.choices.map((choice): [string, string] => [choice, '']) };
  return sourceOf(context, option.complete, place);
}

/** Values that need no request, because completion never waits for the network. IDs and names come from a cache. */
async function sourceOf(context: Context, source: CompletionSource | undefined, { before, current, of }: Place): Promise<Candidates> {
  switch (source) {
    case 'files':
    case 'directories':
      return { words: [], files: source };
    case 'profiles':
      return { words: context.store.profiles().map(({ name, base_url }): [string, string] => [name, base_url]) };
    case 'aliases':
      return { words: Object.entries(context.store.aliases()) };
    case 'settings':
      return { words: settingWords() };
    case 'shells':
      // Imported here, because the module contains the scripts too.
      return { words: (await import('./scripts.ts')).shells.map((shell): [string, string] => [shell, '']) };
    case 'events':
      return { words: webhookEventKinds.map((kind): [string, string] => [kind, '']) };
    // Cases belong to queues, and the line does not specify one.
    case 'cases':
    case undefined:
      return { words: [] };
    default: {
      const { remoteWords } = await import('./remote.ts');
      const words = await remoteWords(context, source, before, of);
      // Revision numbers are offered once the agent is complete.
      if (source === 'revisions' && !current.includes('@')) return { words: words.filter(([word]) => !/@\d+$/.test(word)) };
      // Each run is offered once: by its number, or by its ID if the word begins like one.
      if (source === 'runs' && !isIdBegun(current) && words.some(([word]) => !isUuid(word)))
        return { words: [['@latest', latestOf.runs as string], ...words.filter(([word]) => !isUuid(word))] };
      const latest = latestOf[source];
      return { words: latest === undefined ? words : [['@latest', latest], ...words] };
    }
  }
}

/** Whether a word can only be the beginning of an ID: numbers have no letters, do not begin with 0, and are shorter. */
const isIdBegun = (word: string): boolean => /^[0-9a-f-]+$/i.test(word) && !/^[1-9]\d{0,6}$/.test(word);

/** The summary of `@latest` for the sources that support it. */
const latestOf: Partial<Record<CompletionSource, string>> = { runs: 'the newest run', artifacts: 'the newest artifact' };

const settingWords = (): [string, string][] => settingDefinitions.map(({ key, description }) => [key, description]);
