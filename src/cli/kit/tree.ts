/** The tree that the words of a command line are followed down: groups, groups in groups, commands. */
import type { CommandLoader, Group } from './command.ts';
import type { Context } from './context.ts';

/** A command of its own, without a group. Its summary is repeated here, so that the overview needs no loading. */
export interface Leaf {
  readonly summary: string;
  readonly load: CommandLoader;
  readonly hidden?: boolean;
  /** The title it stands under in the overview. */
  readonly section?: string;
}

/** What a word can name. */
export type Entry = Group | Leaf | CommandLoader;
/** What stands on one level, in the order of the help. */
export type Entries = Readonly<Record<string, Entry>>;

export const isGroup = (entry: Entry): entry is Group => 'commands' in entry;

export const isHidden = (entry: Entry): boolean => 'hidden' in entry && entry.hidden === true;

export const loaderOf = (entry: Leaf | CommandLoader): CommandLoader => (typeof entry === 'function' ? entry : entry.load);

export const entryOf = (entries: Entries, word: string): Entry | undefined => (Object.hasOwn(entries, word) ? entries[word] : undefined);

export const sectionOf = (entry: Entry): string | undefined => ('section' in entry ? entry.section : undefined);

/** One line about an entry; loads a command that does not have its summary in the tree. */
export const summaryOf = async (entry: Entry): Promise<string> =>
  typeof entry === 'function' ? (await entry()).default.summary : entry.summary;

export interface Place {
  /** The words that named something. */
  readonly path: readonly string[];
  /** The words after them. */
  readonly rest: readonly string[];
  /** What the path leads to: the level of its last group, or a command. */
  readonly entries: Entries | undefined;
  readonly load: CommandLoader | undefined;
}

/** Follows words down the tree as far as they name something. */
export function follow(tree: Entries, words: readonly string[]): Place {
  let entries = tree;
  for (const [index, word] of words.entries()) {
    const entry = entryOf(entries, word);
    const [path, rest] = [words.slice(0, index), words.slice(index)];
    if (!entry) return { path, rest, entries, load: undefined };
    if (!isGroup(entry)) return { path: [...path, word], rest: rest.slice(1), entries: undefined, load: loaderOf(entry) };
    entries = entry.commands;
  }
  return { path: words, rest: [], entries, load: undefined };
}

/** All groups of the tree, with the words that lead to them; outer ones first. */
export function groupsOf(tree: Entries, path: readonly string[] = []): { path: string[]; group: Group }[] {
  return Object.entries(tree).flatMap(([name, group]) =>
    isGroup(group) ? [{ path: [...path, name], group }, ...groupsOf(group.commands, [...path, name])] : [],
  );
}

/** The commands of the program that a command belongs to. */
export const commandsOf = ({ commands }: Pick<Context, 'commands'>): Entries => commands as Entries;
