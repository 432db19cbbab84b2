/**
 * The files of a sandbox in the form in which exports contain them. It is the same whether they come from folders or from the record of
 * several nodes: times are whole seconds, links have none, and every folder on the way to a file is there.
 */
import { posix } from 'node:path';
import type { TarEntry } from '../../base/tar/tar-entry.ts';
import { faultyLinks } from '../backup/links.ts';
import type { Problem } from '../backup/progress.ts';
import { byPath, type RecordedEntry } from '../sandbox/record/entries.ts';

export type Chunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** A sandbox that still has its files. */
export interface SandboxFacts {
  id: string;
  /** ISO 8601. */
  created_at: string;
}

export interface SandboxContents {
  /** In the order of their names. */
  entries: TarEntry[];
  /** The bytes of one of the files; undefined if they cannot be read, which is a problem. */
  open(entry: TarEntry): Promise<Chunks | undefined>;
  /** What the entries do not contain. Grows while files are opened. */
  problems: Problem[];
}

/** Where sandboxes are exported from. */
export type SandboxSource = (sandbox: SandboxFacts) => Promise<SandboxContents>;

/** The bytes of a file are not those that were recorded. */
export class DamagedContentError extends Error {
  readonly file: string;
  readonly problem: string;

  /** @param file its path in the data directory */
  constructor(file: string, problem: string) {
    super(`${file} ${problem}`);
    this.file = file;
    this.problem = problem;
  }
}

/** A path of a sandbox in the data directory. */
export const placeOf = (sandboxId: string, name: string): string => `sandboxes/${sandboxId}/${name}`;

/** What archives contain of an entry. @param size of a file */
export function tarEntryOf(
  entry: Exclude<RecordedEntry, { type: 'file' }> | { type: 'file'; path: string; mode: number; modifiedAt: number; size: number },
): TarEntry {
  const { type, path: name } = entry;
  if (entry.type === 'link') return { name, type, size: 0, mode: 0o777, modifiedAt: 0, target: entry.target };
  return { name, type, size: entry.type === 'file' ? entry.size : 0, mode: entry.mode, modifiedAt: Math.floor(entry.modifiedAt / 1_000) };
}

/** Sorts entries, adds missing folders, and leaves out links that lead out of the sandbox. */
export function canonicalEntries(
  { id, created_at }: SandboxFacts,
  found: readonly TarEntry[],
): Pick<SandboxContents, 'entries' | 'problems'> {
  const entries = new Map(found.map((entry) => [entry.name, entry]));
  const addFolder = (name: string): void => {
    if (!entries.has(name))
      entries.set(name, { name, type: 'folder', size: 0, mode: 0o700, modifiedAt: Math.floor(Date.parse(created_at) / 1_000) });
  };
  addFolder('workspace');
  for (const { name } of found) for (let folder = posix.dirname(name); folder !== '.'; folder = posix.dirname(folder)) addFolder(folder);
  const links = found.flatMap(({ name, target }) => (target === undefined ? [] : [[placeOf(id, name), target] as const]));
  const faults = faultyLinks(new Map(links));
  const problems = [...faults].map(([path, fault]) => ({ path, problem: `it is a link that ${fault}, so it is left out` }));
  const isFaulty = ({ name }: TarEntry): boolean => faults.has(placeOf(id, name));
  return { entries: [...entries.values()].filter((entry) => !isFaulty(entry)).sort(byName), problems };
}

const byName = (a: TarEntry, b: TarEntry): number => byPath({ path: a.name }, { path: b.name });
