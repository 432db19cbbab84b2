/**
 * Suggests the command that was probably meant by an unknown word or flag. People run suggestions without looking twice, so a word that
 * asks to see something never leads to a command that changes something, and a command that changes something is only suggested for a
 * word with that meaning, or for a typing error of one key.
 */

import { edits, nearest } from '../../base/nearest.ts';
import { wordList } from '../../base/word-list.ts';
import type { AnyCommand } from '../kit/command.ts';
import { flagName, type Options } from '../kit/flags.ts';
import { globalFlags } from '../kit/global-flags.ts';
import { type Entries, entryOf, follow, groupsOf, isGroup, isHidden, type NamedEntry, nameOf } from '../kit/tree.ts';
import { optionsOf } from './parser.ts';
import { flags, flagsOf, generalMeanings, meaningsByGroup, readingWords } from './synonyms.ts';

/** Commands that change this machine or its stored data. Commands that change the service are marked in their definitions. */
export const localChanges: ReadonlySet<string> = new Set([
  ...['alias delete', 'alias set'],
  ...[
    'auth login',
    'auth logout',
    'config set',
    'config trust',
    'config untrust',
    'local down',
    'local reset',
    'local restore',
    'local up',
  ],
  ...['profiles rename', 'profiles use', 'serve'],
]);

/** The words of a suggestion that lead to a command: those before the first flag or placeholder. */
function commandWords(line: string): string[] {
  const words = line.split(' ');
  const end = words.findIndex((word) => !/^[a-z][a-z-]*$/.test(word));
  return end < 0 ? words : words.slice(0, end);
}

/** Whether a suggestion is valid: a flag, a topic of `aops help`, or words that all name entries. */
export function isKnownLine(tree: Entries, line: string): boolean {
  if (/^(--|help )/.test(line)) return true;
  const words = commandWords(line);
  return words.length > 0 && follow(tree, words).path.length === words.length;
}

/** Whether running this line would change something. A group does not. */
export async function changesSomething(tree: Entries, line: string): Promise<boolean> {
  const { path, load } = follow(tree, commandWords(line));
  if (localChanges.has(path.join(' '))) return true;
  if (!load) return false;
  const command = (await load()).default;
  return command.mutates === true || command.destructive === true;
}

/** The place of an unknown word. */
export interface UnknownWord {
  tree: Entries;
  /** The known words before it, without `aops`. */
  path: readonly string[];
  word: string;
  /** The words after it. */
  rest: readonly string[];
}

/** The command lines that may be meant, without `aops`; empty when nothing is likely enough. */
export async function suggestedCommands(unknownWord: UnknownWord): Promise<string[]> {
  const { tree, word } = unknownWord;
  const lines = inPlural(unknownWord) ?? knownMeaning(unknownWord) ?? onOtherLevels(unknownWord) ?? (await similarlySpelt(unknownWord));
  const reads = readingWords.has(word.toLowerCase());
  const suggestions = [];
  for (const line of lines) if (isKnownLine(tree, line) && !(reads && (await changesSomething(tree, line)))) suggestions.push(line);
  return suggestions.slice(0, maxSuggestions);
}

const maxSuggestions = 3;

/** The command of a group that is called by its singular, as other tools call it: `aops run list`, `aops run view`. */
function inPlural({ tree, path, word, rest: [command] }: UnknownWord): string[] | undefined {
  const { entries = {} } = follow(tree, path);
  const group = nameOf(entries, `${word.toLowerCase()}s`);
  if (group === undefined || command === undefined || !isGroup(entryOf(entries, group) as NamedEntry)) return undefined;
  const groupPath = [...path, group];
  const name = follow(tree, [...groupPath, command]).path[groupPath.length];
  return name === undefined ? knownMeaning({ tree, path: groupPath, word: command, rest: [] }) : [[...groupPath, name].join(' ')];
}

/** The meaning according to the tables; undefined when they do not contain the word. */
function knownMeaning({ tree, path, word }: UnknownWord): string[] | undefined {
  const place = path.join(' ');
  const lower = word.toLowerCase();
  const meanings = Object.hasOwn(meaningsByGroup, place) ? meaningsByGroup[place] : undefined;
  if (meanings && Object.hasOwn(meanings, lower)) return [...(meanings[lower] ?? [])];
  const { entries } = follow(tree, path);
  const name = Object.hasOwn(generalMeanings, lower)
    ? generalMeanings[lower]?.find((meaning) => entries && entryOf(entries, meaning))
    : undefined;
  return name === undefined ? undefined : [[...path, name].join(' ')];
}

/** A group or a command with that name on another level: `aops schedules list` means `aops agents schedules list`. */
function onOtherLevels({ tree, word, rest }: UnknownWord): string[] | undefined {
  const lower = word.toLowerCase();
  const groups = groupsOf(tree).filter(({ path }) => path.at(-1) === lower);
  if (groups.length > 0 && groups.length <= maxSuggestions)
    return groups.map(({ path, group }) => {
      const command = rest[0] !== undefined && Object.hasOwn(group.commands, rest[0]) ? [rest[0]] : [];
      return [...path, ...command].join(' ');
    });
  const commands = groupsOf(tree).flatMap(({ path, group }) => {
    const name = nameOf(group.commands, lower);
    return name === undefined ? [] : [[...path, name].join(' ')];
  });
  return commands.length > 0 && commands.length <= 2 ? commands : undefined;
}

/** The name on this level, or the known synonym, with the most similar spelling. */
async function similarlySpelt({ tree, path, word, rest }: UnknownWord): Promise<string[]> {
  const entries = follow(tree, path).entries ?? {};
  const names = Object.keys(entries).filter((name) => !isHidden(entryOf(entries, name) as NamedEntry));
  const synonyms = [...Object.keys(generalMeanings), ...Object.keys(meaningsByGroup[path.join(' ')] ?? {})];
  // Among equally similar words, those that ask to see something come first.
  const similar = nearest(word, [...synonyms.filter((synonym) => readingWords.has(synonym)), ...names, ...synonyms]);
  if (similar === undefined) return [];
  const name = nameOf(entries, similar);
  const lines = name !== undefined ? [lineOf(entries, path, name, rest)] : (knownMeaning({ tree, path, word: similar, rest }) ?? []);
  const isTypingError = edits(word.toLowerCase(), similar) <= 1;
  const suggestions = [];
  for (const line of lines) if (isTypingError || !(await changesSomething(tree, line))) suggestions.push(line);
  return suggestions;
}

/** The command line for a name; if the name is a group, a following command of the group is kept: `aops run list`. */
function lineOf(entries: Entries, path: readonly string[], name: string, rest: readonly string[]): string {
  const entry = entries[name] as NamedEntry;
  const command = isGroup(entry) && rest[0] !== undefined && Object.hasOwn(entry.commands, rest[0]) ? [rest[0]] : [];
  return [...path, name, ...command].join(' ');
}

/** The hint for one or more suggested command lines. */
export const suggestion = (lines: readonly string[]): string | undefined =>
  lines.length === 0
    ? undefined
    : `Did you mean ${wordList(
        lines.map((line) => `\`aops ${line}\``),
        'or',
      )}?`;

/**
 * The hint for a flag that a command does not have.
 * @param place the words of the command, without `aops`
 */
export function suggestedFlag(flag: string, place: string, command: AnyCommand | undefined): string | undefined {
  const flagNames = knownFlags(command);
  const hints = flagsOf[place];
  if (hints && Object.hasOwn(hints, flag)) return hints[flag];
  const synonym = Object.hasOwn(flags, flag)
    ? flags[flag]?.find((candidate) => candidate.includes(' ') || flagNames.includes(candidate))
    : undefined;
  const similar =
    synonym ??
    (flag.startsWith('--')
      ? nearest(
          flag,
          flagNames.filter((candidate) => !candidate.includes(' ') && candidate.startsWith('--')),
        )
      : undefined);
  if (similar === undefined) return undefined;
  return similar === '--version' ? 'Did you mean `aops --version`?' : `Did you mean \`${similar}\`?`;
}

const generalFlags = ['--help', '--version'];

function knownFlags(command: AnyCommand | undefined): string[] {
  const options: Options = { ...globalFlags, ...(command === undefined ? {} : optionsOf(command)) };
  const names = Object.entries(options).flatMap(([key, { hidden, negatable }]) =>
    hidden ? [] : [flagName(key), ...(negatable ? [flagName(`no-${key}`)] : [])],
  );
  return [...names, ...generalFlags];
}
