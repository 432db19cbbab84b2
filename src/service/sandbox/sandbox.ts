/**
 * The files of a run, and command execution in their directory. The file functions neither read nor write outside the sandbox's
 * directory; how far commands are confined depends on their launcher (see launch.ts).
 */

import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import type { ByteRange } from '../../base/byte-range.ts';
import { hostTrouble } from '../host-trouble.ts';
import { directoryEntry, fileEntry, readStart, type SandboxEntry } from './entry.ts';
import { type ExecOptions, type ExecResult, execute } from './exec.ts';
import { localContent } from './local-content.ts';
import { confirm, confirmOpen, fileNotFound, hasCode, locate, notADirectory, notAFile, openFlags, type Place } from './paths.ts';
import { captureChanges, type FolderChanges } from './record/capture.ts';
import type { KnownEntries, KnownEntry, RecordedEntry } from './record/entries.ts';
import type { PutBytes } from './record/packs.ts';
import { type RestoreParts, restoreSandbox } from './record/restore.ts';
import type { FileTree, SandboxFiles } from './sandbox-files.ts';
import { walkFiles } from './walk.ts';
import { type ComingBytes, type WriteDirectories, writeFile } from './write.ts';
import { type NewFile, writeFiles } from './write-files.ts';

/** The number of files that a listing reads at the same time. */
const listingBatch = 16;

interface SandboxOptions {
  /** PATH of commands. */
  searchPath: string;
  /** The prefix of the names of this process in the folder for uploads. */
  process: string;
  /** Whether its folders have to be created before they are used. */
  isNew: boolean;
}

/** One sandbox on this machine. All file functions throw the ServiceErrors of SandboxFiles. */
export class Sandbox implements SandboxFiles {
  readonly id: string;
  readonly #home: string;
  readonly #options: SandboxOptions;
  #isNew: boolean;
  #changeCount = 0;

  /** `home` is the sandbox's directory as a real path; use SandboxStore. */
  constructor(id: string, home: string, options: SandboxOptions) {
    this.id = id;
    this.#home = home;
    this.#options = options;
    this.#isNew = options.isNew;
  }

  /** Another object for the same folders, which counts its own changes. */
  sameFolders(): Sandbox {
    return new Sandbox(this.id, this.#home, this.#options);
  }

  /** The workspace on disk, which is created if it does not exist yet. */
  get #directory(): string {
    const directory = path.join(this.#home, 'workspace');
    if (this.#isNew) createDirectory(directory);
    this.#isNew = false;
    return directory;
  }

  /** The workspace on disk, for programs that work in it. */
  get directory(): string {
    this.#changeCount = Number.POSITIVE_INFINITY;
    return this.#directory;
  }

  /** How often files have been changed through this object; infinite if a program might change them at any time. */
  get changeCount(): number {
    return this.#changeCount;
  }

  async list(input: string): Promise<SandboxEntry[]> {
    const place = await this.#requireExisting(input);
    if (!place.stats?.isDirectory()) throw notADirectory(place.displayPath);
    const names = (await readdir(place.realPath, { withFileTypes: true }))
      .filter((entry) => entry.isFile() || entry.isDirectory())
      .map((entry) => entry.name)
      .sort();
    await confirm(this.#directory, place.realPath, place.displayPath);
    const entries: SandboxEntry[] = [];
    for (let start = 0; start < names.length; start += listingBatch) {
      const batch = names.slice(start, start + listingBatch).map((name) => this.#member(place, name));
      for (const entry of await Promise.all(batch)) if (entry) entries.push(entry);
    }
    return entries;
  }

  async stat(input: string): Promise<SandboxEntry> {
    const place = await this.#requireExisting(input);
    if (place.stats?.isDirectory()) return directoryEntry(place);
    const handle = await this.openPlace(place);
    try {
      return await fileEntry(place.displayPath, handle);
    } finally {
      await handle.close();
    }
  }

  async read(input: string, limit: number): Promise<{ entry: SandboxEntry; bytes: Buffer; truncated: boolean }> {
    const place = await this.#requireExisting(input);
    const handle = await this.openPlace(place);
    try {
      const entry = await fileEntry(place.displayPath, handle);
      const bytes = await readStart(handle, Math.min(limit, entry.size));
      return { entry, bytes, truncated: entry.size > bytes.length };
    } finally {
      await handle.close();
    }
  }

  async openRead(input: string, range?: ByteRange): Promise<{ stream: Readable; size: number; modifiedAt: Date }> {
    const handle = await this.openPlace(await this.#requireExisting(input));
    try {
      const { size, mtime } = await handle.stat();
      const start = range?.start ?? 0;
      const end = Math.min(range?.end ?? Infinity, size - 1);
      return { stream: byteStream(handle, start, end), size, modifiedAt: mtime };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /**
   * Writes a file and the missing directories. It appears complete or not at all; above `limit` bytes, `file_too_large` (413)
   * is thrown and nothing remains.
   */
  async write(input: string, data: Uint8Array | ComingBytes, options: { limit?: number } = {}): Promise<{ path: string; size: number }> {
    this.#changeCount += 1;
    return await writeFile(this.#writeDirectories(this.#directory), input, data, options.limit);
  }

  /** Writes many files as `write` does, and syncs them together. All are looked up before the first appears. */
  async writeAll(files: AsyncIterable<NewFile>): Promise<void> {
    this.#changeCount += 1;
    await writeFiles(this.#writeDirectories(this.#directory), files);
  }

  async walk(input: string, isHidden: (displayPath: string) => boolean = () => false): Promise<FileTree> {
    const { displayPath, files } = await walkFiles(this.#directory, input, isHidden);
    return {
      displayPath,
      files: files.map((place) => ({
        displayPath: place.displayPath,
        size: place.stats?.size ?? 0,
        content: (maxBytes) => localContent(this.#directory, place, () => this.openPlace(place), maxBytes),
      })),
    };
  }

  /** A folder next to the workspace that callers do not see; created if missing. `name` is a plain word. */
  async privateFolder(name: string): Promise<string> {
    // Without a workspace, the sandbox would count as damaged.
    const folder = path.join(this.directory, '..', name);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return folder;
  }

  /**
   * Writes a file in such a folder. Programs can write there as well, so it follows no link that leads out of the folder. Throws like
   * `write`. @param mode the permissions of the file
   */
  async writePrivate(name: string, input: string, data: Uint8Array, mode = 0o600): Promise<void> {
    const root = await this.privateFolder(name);
    await writeFile(this.#writeDirectories(root), input, data, undefined, mode);
  }

  /**
   * What differs from the record of the sandbox. The bytes of new files are stored with `put`. Call it once at a time, and not during
   * `restore`. @param known the record, with what is known of the files on this machine
   */
  async capture(known: KnownEntries, put: PutBytes): Promise<FolderChanges> {
    return await captureChanges(this.#home, known, put);
  }

  /**
   * Makes the folders of the sandbox equal to its record, while no program of a run works in them.
   * @throws StoredFileMissingError if a stored file no longer exists, because the record has changed
   */
  async restore(record: readonly RecordedEntry[], parts: Omit<RestoreParts, 'staging'>): Promise<Map<string, KnownEntry>> {
    const staging = path.join(this.#home, 'staging', `${this.#options.process}-${randomUUID()}`);
    return await restoreSandbox(this.#home, record, { ...parts, staging });
  }

  /** Runs a command with /bin/sh in the workspace, confined by the launcher. When aborted, rejects with the signal's reason after all its processes have ended. */
  async exec(command: string, options: ExecOptions): Promise<ExecResult> {
    const temporary = path.join(this.#home, 'tmp');
    const directories = { directory: this.#directory, temporary };
    await mkdir(temporary, { recursive: true, mode: 0o700 });
    this.#changeCount += 1;
    return await execute(command, { ...directories, searchPath: this.#options.searchPath }, options);
  }

  #writeDirectories(root: string): WriteDirectories {
    return { root, staging: path.join(this.#home, 'staging'), process: this.#options.process };
  }

  async #requireExisting(input: string): Promise<Place> {
    const place = await locate(this.#directory, input);
    if (place.stats === undefined) throw fileNotFound(place.displayPath);
    return place;
  }

  async #member(directory: Place, name: string): Promise<SandboxEntry | undefined> {
    const place: Place = {
      displayPath: `${directory.displayPath}/${name}`,
      realPath: path.join(directory.realPath, name),
      stats: await lstat(path.join(directory.realPath, name)).catch(unlessTrouble),
    };
    if (place.stats?.isDirectory()) return directoryEntry(place);
    // Removed, replaced, or unreadable since the directory was read: not part of the listing.
    const handle = await this.openPlace(place).catch(unlessTrouble);
    try {
      return handle && (await fileEntry(place.displayPath, handle));
    } finally {
      await handle?.close();
    }
  }

  /** Opens a located file for reading and verifies that the open file is inside the sandbox. */
  async openPlace(place: Place): Promise<FileHandle> {
    if (!place.stats?.isFile()) throw notAFile(place.displayPath);
    const handle = await open(place.realPath, openFlags).catch((error: unknown) => {
      if (hasCode(error, 'ENOENT')) throw fileNotFound(place.displayPath);
      if (hasCode(error, 'ELOOP', 'ENXIO')) throw notAFile(place.displayPath);
      throw error;
    });
    try {
      const stats = await handle.stat();
      if (!stats.isFile()) throw notAFile(place.displayPath);
      await confirmOpen(this.#directory, place, handle);
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }
}

/** Whatever prevents it, such as missing permissions, is trouble of the host, and not a failure of the run that needs the directory. */
function createDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    if (hostTrouble(error) !== undefined) throw error;
    throw Object.assign(new Error('The folder of a sandbox cannot be created.', { cause: error }), { code: 'EIO' });
  }
}

/** Undefined for a file that no longer exists. Problems of the host are thrown, because the file might still exist. */
function unlessTrouble(error: unknown): undefined {
  if (hostTrouble(error) !== undefined) throw error;
}

function byteStream(handle: FileHandle, start: number, end: number): Readable {
  // A file stream does not support an end before its start.
  if (start <= end) return handle.createReadStream({ start, end });
  const empty = Readable.from([]);
  empty.once('close', () => void handle.close());
  return empty;
}
