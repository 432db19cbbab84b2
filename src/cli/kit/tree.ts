/** The tree of commands, through which the words of a command line are followed: groups, nested groups, commands. */
import type { Alias, CommandLoader, Group } from './command.ts';
import type { Context } from './context.ts';

/** A command without a group. Its summary is repeated here, so that the overview does not have to load it. */
export interface Leaf {
  readonly summary: string;
  readonly load: CommandLoader;
  readonly hidden?: boolean;
  /** The section of the overview in which it is listed. */
  readonly section?: string;
}

/** A group or a command. */
export type NamedEntry = Group | Leaf | CommandLoader;
/** Anything that a word can name. */
export type Entry = NamedEntry | Alias;
/** The entries of one level, in the order of the help. */
export type Entries = Readonly<Record<string, Entry>>;

export const isGroup = (entry: Entry): entry is Group => 'commands' in entry;

export const isAlias = (entry: Entry): entry is Alias => 'aliasOf' in entry;

export const isHidden = (entry: Entry): boolean => 'hidden' in entry && entry.hidden === true;

export const loaderOf = (entry: Leaf | CommandLoader): CommandLoader => (typeof entry === 'function' ? entry : entry.load);

/** The name of the entry that a word means; the word may be an alias. */
export function nameOf(entries: Entries, word: string): string | undefined {
  const entry = Object.hasOwn(entries, word) ? entries[word] : undefined;
  if (entry === undefined) return undefined;
  return isAlias(entry) ? entry.aliasOf : word;
}

export function entryOf(entries: Entries, word: string): NamedEntry | undefined {
  const name = nameOf(entries, word);
  return name === undefined ? undefined : (entries[name] as NamedEntry);
}

/** The entries without the aliases, by name. */
export const namedEntries = (entries: Entries): [string, NamedEntry][] =>
  Object.entries(entries).filter((entry): entry is [string, NamedEntry] => !isAlias(entry[1]));

/** The aliases of an entry on the same level. */
export const aliasesOf = (entries: Entries, name: string): string[] =>
  Object.keys(entries).filter((word) => word !== name && nameOf(entries, word) === name);

export const sectionOf = (entry: Entry): string | undefined => ('section' in entry ? entry.section : undefined);

/** The summary of an entry; loads a command whose summary is not in the tree. */
export const summaryOf = async (entry: NamedEntry): Promise<string> => entry.summary ?? (await (entry as CommandLoader)()).default.summary;

export interface Place {
  /** The words that named an entry; the name itself if an alias was used. */
  readonly path: readonly string[];
  /** The words after them. */
  readonly rest: readonly string[];
  /** The entries of the last group in the path; undefined if the path leads to a command. */
  readonly entries: Entries | undefined;
  readonly load: CommandLoader | undefined;
}

/** Follows words down the tree as far as they name entries. */
export function follow(tree: Entries, words: readonly string[]): Place {
  let entries = tree;
  const path: string[] = [];
  for (const [index, word] of words.entries()) {
    const name = nameOf(entries, word);
    const rest = words.slice(index);
    if (name === undefined) return { path, rest, entries, load: undefined };
    path.push(name);
    const entry = entries[name] as NamedEntry;
    if (!isGroup(entry)) return { path, rest: rest.slice(1), entries: undefined, load: loaderOf(entry) };
    entries = entry.commands;
  }
  return { path, rest: [], entries, load: undefined };
}

/** All groups of the tree with the words that lead to them, outer groups first. */
export function groupsOf(tree: Entries, path: readonly string[] = []): { path: string[]; group: Group }[] {
  return Object.entries(tree).flatMap(([name, group]) =>
    isGroup(group) ? [{ path: [...path, name], group }, ...groupsOf(group.commands, [...path, name])] : [],
  );
}

/** The commands of the program that a command belongs to. */
export const commandsOf = ({ commands }: Pick<Context, 'commands'>): Entries => commands as Entries;
