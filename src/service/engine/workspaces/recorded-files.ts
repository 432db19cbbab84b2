/** The files of a sandbox as its steps have recorded them, for nodes that do not have them. */
import type { Buffer } from 'node:buffer';
import path from 'node:path';
import { Readable } from 'node:stream';
import type { ByteRange } from '../../../base/byte-range.ts';
import type { SandboxEntry } from '../../sandbox/entry.ts';
import { mimeTypeOf } from '../../sandbox/file-kind.ts';
import { fileNotFound, notADirectory, notAFile } from '../../sandbox/paths.ts';
import type { RecordedEntry, RecordedFile } from '../../sandbox/record/entries.ts';
import { type OpenBytes, wholeOf } from '../../sandbox/record/fetch.ts';
import { StoredPacks } from '../../sandbox/record/stored-packs.ts';
import type { FileTree, SandboxFiles, TreeFile } from '../../sandbox/sandbox-files.ts';
import { comparePaths, maxDepth, maxEntries, tooDeep, tooManyFiles } from '../../sandbox/walk.ts';
import type { Queries } from '../../store/database/database.ts';
import { entriesBelow, entriesIn } from '../../store/runs/workspace-files.ts';
import { findRecorded, type RecordedPlace } from './recorded-tree.ts';

/** How often a file is looked up that is replaced again and again. */
const maxAttempts = 3;

export class RecordedFiles implements SandboxFiles {
  readonly id: string;
  readonly #db: Queries;
  readonly #open: OpenBytes;

  constructor(id: string, db: Queries, open: OpenBytes) {
    this.id = id;
    this.#db = db;
    this.#open = open;
  }

  async list(input: string): Promise<SandboxEntry[]> {
    const place = await this.#requireExisting(input);
    if (place.entry.type !== 'folder') throw notADirectory(place.displayPath);
    const entries = await entriesIn(this.#db, this.id, place.path);
    return entries
      .flatMap((entry) => (entry.type === 'link' ? [] : [sandboxEntry(`${place.displayPath}/${path.posix.basename(entry.path)}`, entry)]))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async stat(input: string): Promise<SandboxEntry> {
    const { displayPath, entry } = await this.#requireExisting(input);
    return sandboxEntry(displayPath, entry);
  }

  async read(input: string, limit: number): Promise<{ entry: SandboxEntry; bytes: Buffer; truncated: boolean }> {
    const { displayPath, file, stream } = await this.#openFile(input, { start: 0, end: limit - 1 });
    const bytes = await wholeOf(stream);
    return { entry: sandboxEntry(displayPath, file), bytes, truncated: file.size > bytes.length };
  }

  async openRead(input: string, range?: ByteRange): Promise<{ stream: Readable; size: number; modifiedAt: Date }> {
    const { file, stream } = await this.#openFile(input, range);
    return { stream, size: file.size, modifiedAt: new Date(file.modifiedAt) };
  }

  async walk(input: string, isHidden: (displayPath: string) => boolean = () => false): Promise<FileTree> {
    const place = await this.#requireExisting(input);
    const { entry, displayPath } = place;
    if (entry.type === 'file') {
      const packs = new StoredPacks([entry], this.#open);
      return { displayPath: path.posix.dirname(displayPath), files: [treeFile(displayPath, entry, packs)] };
    }
    const displayOf = ({ path: name }: RecordedEntry): string => `${displayPath}${name.slice(place.path.length)}`;
    const isListed = (item: RecordedEntry): boolean => item.type !== 'link' && !prefixesOf(displayOf(item), displayPath).some(isHidden);
    const listed: RecordedEntry[] = [];
    for await (const item of entriesBelow(this.#db, this.id, place.path)) {
      if (isListed(item)) listed.push(item);
      if (listed.length > maxEntries) throw tooManyFiles();
    }
    // As many levels as on the disk, where the start is the first.
    const depth = (item: RecordedEntry): number => item.path.slice(place.path.length).split('/').length - (item.type === 'folder' ? 1 : 2);
    if (listed.some((item) => depth(item) > maxDepth)) throw tooDeep();
    const files = listed.filter((item) => item.type === 'file');
    const packs = new StoredPacks(files, this.#open);
    return {
      displayPath,
      files: files.map((file) => treeFile(displayOf(file), file, packs)).sort((a, b) => comparePaths(a.displayPath, b.displayPath)),
    };
  }

  async #requireExisting(input: string): Promise<RecordedPlace & { entry: RecordedEntry }> {
    const place = await findRecorded(this.#db, this.id, input);
    if (place.entry === undefined) throw fileNotFound(place.displayPath);
    return { ...place, entry: place.entry };
  }

  /** @param range both ends included, limited to the file; the whole file by default */
  async #openFile(input: string, range: ByteRange | undefined): Promise<{ displayPath: string; file: RecordedFile; stream: Readable }> {
    for (let attempt = 1; ; attempt++) {
      const { displayPath, entry } = await this.#requireExisting(input);
      if (entry.type !== 'file') throw notAFile(displayPath);
      const stream = await openFile(entry, this.#open, range);
      if (stream !== undefined) return { displayPath, file: entry, stream };
      // It was replaced since it was looked up, some time ago.
      if (attempt === maxAttempts) throw fileNotFound(displayPath);
    }
  }
}

/** The bytes of a file, or those of a range, which is limited to the file; undefined if they are no longer stored. */
export async function openFile(file: RecordedFile, open: OpenBytes, range?: ByteRange): Promise<Readable | undefined> {
  const start = range?.start ?? 0;
  const end = Math.min(range?.end ?? Number.POSITIVE_INFINITY, file.size - 1);
  if (file.stored === null || start > end) return Readable.from([]);
  const { key, position } = file.stored;
  const chunks = await open(key, { start: position + start, end: position + end });
  return chunks && (chunks instanceof Readable ? chunks : Readable.from(chunks));
}

const treeFile = (displayPath: string, file: RecordedFile, packs: StoredPacks): TreeFile => ({
  displayPath,
  size: file.size,
  async content(maxBytes) {
    if (file.size > maxBytes) return undefined;
    const chunks = await packs.chunksOf(file);
    return chunks && { size: file.size, sha256: file.sha256, chunks };
  },
});

/** The paths below `start` that lead to a path, and the path itself. */
function prefixesOf(displayPath: string, start: string): string[] {
  const names = displayPath.slice(start.length + 1).split('/');
  return names.map((_, index) => [start, ...names.slice(0, index + 1)].join('/'));
}

function sandboxEntry(displayPath: string, entry: RecordedEntry): SandboxEntry {
  const name = path.posix.basename(displayPath);
  const isFile = entry.type === 'file';
  return {
    name,
    path: displayPath,
    type: isFile ? 'file' : 'directory',
    size: isFile ? entry.size : 0,
    modifiedAt: new Date(entry.modifiedAt),
    isText: isFile && entry.isText,
    mimeType: isFile ? mimeTypeOf(name) : null,
  };
}
