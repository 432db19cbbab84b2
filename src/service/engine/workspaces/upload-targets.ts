/** Where uploads are recorded. The folder of many files is looked up once. */
import path from 'node:path';
import { invalidPath, namesOf, notADirectory, notAFile, publicPath } from '../../sandbox/paths.ts';
import { folderOf, maxPathBytes, type RecordedEntry } from '../../sandbox/record/entries.ts';
import type { Queries } from '../../store/database/database.ts';
import { entriesAt, entriesIn } from '../../store/runs/workspace-files.ts';
import { findRecorded, type RecordedPlace, workspacePath } from './recorded-tree.ts';

export interface UploadTarget {
  /** The path that callers see. */
  displayPath: string;
  /** The path in the record. */
  path: string;
}

interface Folder {
  place: RecordedPlace;
  children: ReadonlyMap<string, RecordedEntry>;
}

export class UploadTargets {
  readonly #db: Queries;
  readonly #sandboxId: string;
  readonly #folders = new Map<string, Folder>();

  constructor(db: Queries, sandboxId: string) {
    this.#db = db;
    this.#sandboxId = sandboxId;
  }

  /** @throws ServiceError `invalid_path`, `not_a_file`, `not_a_directory` */
  async find(input: string): Promise<UploadTarget> {
    if (input.endsWith('/')) throw invalidPath(input, 'it ends with /, so it is a directory.');
    const names = namesOf(input);
    const name = names.pop();
    if (name === undefined) throw notAFile(publicPath([]));
    const { place, children } = await this.#folder(publicPath(names), input);
    const displayPath = publicPath([...names, name]);
    const child = children.get(name);
    // A link is followed, as for a file on the disk.
    const target =
      child?.type === 'link' ? await findRecorded(this.#db, this.#sandboxId, input) : { path: `${place.path}/${name}`, entry: child };
    if (target.entry !== undefined && target.entry.type !== 'file') throw notAFile(displayPath);
    if (Buffer.byteLength(target.path) > maxPathBytes) throw invalidPath(input, `it is longer than ${maxPathBytes} bytes.`);
    return { displayPath, path: target.path };
  }

  async #folder(input: string, requested: string): Promise<Folder> {
    let folder = this.#folders.get(input);
    if (folder === undefined) {
      const place = await findRecorded(this.#db, this.#sandboxId, input, requested);
      if (place.entry !== undefined && place.entry.type !== 'folder') throw notADirectory(place.displayPath);
      const entries = place.entry === undefined ? [] : await entriesIn(this.#db, this.#sandboxId, place.path);
      folder = { place, children: new Map(entries.map((entry) => [path.posix.basename(entry.path), entry])) };
      this.#folders.set(input, folder);
    }
    return folder;
  }
}

/** Throws what `find` does if something else is there by now. */
export async function requireUnchanged(trx: Queries, sandboxId: string, targets: Iterable<UploadTarget>): Promise<void> {
  const byPath = new Map([...targets].map((target) => [target.path, target]));
  for (const [name, entry] of await entriesAt(trx, sandboxId, [...byPath.keys()]))
    if (entry.type !== 'file') throw notAFile(byPath.get(name)?.displayPath ?? name);
}

/** The folders on the way to the targets that have to be recorded. */
export async function missingFolders(trx: Queries, sandboxId: string, targets: Iterable<UploadTarget>): Promise<string[]> {
  const folders = new Set<string>();
  for (const target of targets)
    for (let folder = folderOf(target.path); folder !== '' && !folders.has(folder); folder = folderOf(folder)) folders.add(folder);
  const existing = await entriesAt(trx, sandboxId, [...folders]);
  for (const [name, entry] of existing) if (entry.type !== 'folder') throw notADirectory(displayPathOf(name));
  return [...folders].filter((name) => !existing.has(name));
}

const displayPathOf = (name: string): string => publicPath(name.slice(workspacePath.length + 1).split('/'));
