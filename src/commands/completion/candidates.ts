/** Finds the words that are possible at the cursor of a command line. Imports nothing, because it is loaded each time TAB is pressed. */
import type { Word } from '../../cli/picking/sources.ts';
import type { CommandWords, FlagWords, GroupWords, LeafWords, LevelWords, LookedUpSource, Values } from './command-words.ts';

/** What is possible at the cursor. */
export interface Candidates {
  readonly words: Word[];
  /** What the shell itself should offer. */
  readonly paths?: 'files' | 'directories';
}

/** Candidates to which something may have to be added. */
export interface KnownCandidates extends Candidates {
  readonly lookUp?: LookUp;
}

/** What depends on the machine or on the service. */
export type LookUp =
  /** The values of a source. `of` is the first argument, for words that belong to an agent or a queue. */
  | { readonly source: LookedUpSource; readonly of: string | undefined }
  /** The user's aliases and extensions, in addition to the words. */
  | 'user commands'
  /** The first word names no command: it can be an alias or an extension, or be wrong. */
  | 'user command';

/** A command line, from the words up to the cursor. */
export interface Line {
  readonly before: readonly string[];
  /** The beginning of the word at the cursor; can be empty. */
  readonly current: string;
  /** Added to each candidate. */
  readonly prefix: string;
}

/**
 * The word at the cursor and those before it. For `--status=wai`, a value of --status is completed: bash passes it as three words;
 * other shells pass one word, which must be replaced as a whole, including its `prefix`.
 */
export function lineOf(words: readonly string[]): Line {
  const before = words.slice(0, -1);
  const lastWord = words.at(-1) ?? '';
  const [, flag, value = ''] = /^(--[\w-]+)=(.*)$/.exec(lastWord) ?? [];
  if (flag !== undefined) return { before: [...before, flag], current: value, prefix: `${flag}=` };
  if (before.at(-1) === '=') before.pop();
  return { before, current: lastWord === '=' ? '' : lastWord, prefix: '' };
}

/** The candidates at the cursor. */
export function candidates(commands: CommandWords, line: Line): KnownCandidates {
  const words = plainWords(commands.globalFlags, line.before);
  const [first, ...rest] = words;
  if (first === 'help') return helpCandidates(commands, rest, line);
  if (first !== undefined && entryOf(commands.entries, first) === undefined) return { words: [], lookUp: 'user command' };
  const place = follow(commands.entries, words);
  if ('leaf' in place) return leafCandidates(commands, place.leaf, place.rest, line);
  if (place.rest.length > 0) return { words: [] };
  const flag = openFlag(commands.globalFlags, line.before);
  if (flag !== undefined) return valueCandidates(flag.values, undefined);
  if (line.current.startsWith('-')) return { words: flagWords(commands.globalFlags, line) };
  return { words: entryWords(place.level, line), ...(words.length === 0 && { lookUp: 'user commands' }) };
}

/**
 * The text that the completion scripts read: `WORD<tab>SUMMARY` on each line, only those that continue the current word. A last line
 * `:files` or `:directories` makes the shell complete paths.
 */
export function candidateText({ words, paths }: Candidates, { current, prefix }: Line): string {
  const continued = words.filter(([word]) => word.startsWith(current) && isPlain(word));
  const lines = continued.map(([word, summary]) => `${prefix}${word}\t${summary.replace(control, ' ')}`);
  return [...lines, ...(paths === undefined ? [] : [`:${paths}`])].map((line) => `${line}\n`).join('');
}

/** Control characters, and those that change how a line is read. */
const control = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Names with control characters are left out: they do not belong on a command line. */
const isPlain = (word: string): boolean => word.search(control) < 0;

/** The words that are neither flags nor values of global flags. Values of the command's own flags are recognised by `isValueOfFlag`. */
function plainWords(globalFlags: readonly FlagWords[], words: readonly string[]): string[] {
  return words.filter((word, index) => !word.startsWith('-') && openFlag(globalFlags, words.slice(0, index)) === undefined);
}

type NamedWords = GroupWords | LeafWords;

function entryOf(level: LevelWords, word: string): NamedWords | undefined {
  const entry = Object.hasOwn(level, word) ? level[word] : undefined;
  return typeof entry === 'string' ? (level[entry] as NamedWords) : entry;
}

/** Follows words down the tree as far as they name entries. `rest` are the words after them. */
function follow(
  entries: LevelWords,
  words: readonly string[],
): { rest: readonly string[] } & ({ leaf: LeafWords } | { level: LevelWords }) {
  let level = entries;
  for (const [index, word] of words.entries()) {
    const entry = entryOf(level, word);
    if (entry === undefined) return { level, rest: words.slice(index) };
    if (!('entries' in entry)) return { leaf: entry, rest: words.slice(index + 1) };
    level = entry.entries;
  }
  return { level, rest: [] };
}

/** The words of one level, with their summaries. Aliases are offered only where no name begins with the current word. */
function entryWords(level: LevelWords, { current }: Line): Word[] {
  const names = Object.keys(level).filter((name) => typeof level[name] !== 'string' && (level[name] as NamedWords).hidden !== true);
  const summaryOf = (name: string): string => (level[name] as NamedWords).summary;
  if (names.some((name) => name.startsWith(current))) return names.map((name) => [name, summaryOf(name)]);
  return names.flatMap((name) => aliasesOf(level, name).map((alias): Word => [alias, summaryOf(name)]));
}

const aliasesOf = (level: LevelWords, name: string): string[] => Object.keys(level).filter((word) => level[word] === name);

/** `aops help`: the commands and the topics. */
function helpCandidates({ entries, topics }: CommandWords, words: readonly string[], line: Line): KnownCandidates {
  const place = follow(entries, words);
  if ('leaf' in place || place.rest.length > 0) return { words: [] };
  return { words: [...entryWords(place.level, line), ...(words.length > 0 ? [] : topics)] };
}

function leafCandidates({ globalFlags }: CommandWords, leaf: LeafWords, operands: readonly string[], line: Line): KnownCandidates {
  const flags = [...globalFlags, ...leaf.flags];
  const open = openFlag(flags, line.before);
  if (open?.name === '--fields') return { words: fieldWords(leaf.fields, line) };
  const values = operands.filter((_, index) => !isValueOfFlag(flags, line.before, operands, index));
  if (open !== undefined) return valueCandidates(open.values, values[0]);
  if (line.current.startsWith('-')) return { words: flagWords(flags, line) };
  const argument = leaf.arguments[values.length] ?? (leaf.variadic ? leaf.arguments.at(-1) : undefined);
  return valueCandidates(argument, values[0]);
}

function isValueOfFlag(flags: readonly FlagWords[], before: readonly string[], operands: readonly string[], index: number): boolean {
  const at = before.indexOf(operands[index] as string);
  return at > 0 && openFlag(flags, before.slice(0, at)) !== undefined;
}

/** The flag whose value comes next, if the last word is a flag with a value. */
function openFlag(flags: readonly FlagWords[], words: readonly string[]): FlagWords | undefined {
  const last = words.at(-1) ?? '';
  const flag = flags.find(({ name, short }) => last === name || last === short);
  return flag?.values === undefined ? undefined : flag;
}

/** The flags with their summaries. Aliases are offered only where no other flag begins with the current word. */
function flagWords(flags: readonly FlagWords[], { current }: Line): Word[] {
  const visibleFlags = flags.filter(({ hidden }) => hidden !== true);
  const words = visibleFlags.flatMap(({ name, summary, negation }): Word[] => [[name, summary], ...(negation ? [negation] : [])]);
  if (words.some(([word]) => word.startsWith(current))) return words;
  return visibleFlags.flatMap(({ aliases = [], summary }) => aliases.map((alias): Word => [alias, summary]));
}

/** The fields of the command's JSON; the part before the last comma is kept. */
function fieldWords(fields: readonly Word[], { current }: Line): Word[] {
  const before = current.slice(0, current.lastIndexOf(',') + 1);
  const namedFields = new Set(before.split(','));
  return fields.filter(([name]) => !namedFields.has(name)).map(([name, type]) => [before + name, type]);
}

function valueCandidates(values: Values = [], of: string | undefined): KnownCandidates {
  if (values === 'files' || values === 'directories') return { words: [], paths: values };
  return typeof values === 'string' ? { words: [], lookUp: { source: values, of } } : { words: values };
}
