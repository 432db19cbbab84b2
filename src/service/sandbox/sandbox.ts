/**
 * The files of a run, and command execution in their directory. The file functions neither read nor write outside the sandbox's
 * directory; how far commands are confined depends on their launcher (see launch.ts).
 */

import { type FileHandle, lstat, mkdir, open, readdir } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { hostTrouble } from '../host-trouble.ts';
import { directoryEntry, fileEntry, readStart, type SandboxEntry } from './entry.ts';
import { type ExecOptions, type ExecResult, execute } from './exec.ts';
import { confirm, confirmOpen, fileNotFound, hasCode, locate, notADirectory, notAFile, openFlags, type Place } from './paths.ts';
import { type FileTree, walkFiles } from './walk.ts';
import { type ComingBytes, writeFile } from './write.ts';
import { type NewFile, writeFiles } from './write-files.ts';

/** The number of files that a listing reads at the same time. */
const listingBatch = 16;

/**
 * One sandbox. Every path can be written as `/workspace/a`, `a`, or `./a`. All file functions throw a ServiceError:
 * `invalid_path` (400), `file_not_found` (404), `not_a_file` or `not_a_directory` (400).
 */
export class Sandbox {
  readonly id: string;
  /** The workspace on disk. */
  readonly directory: string;
  readonly #home: string;
  readonly #searchPath: string;
  readonly #process: string;

  /** `home` is the sandbox's directory as a real path; use SandboxStore. */
  constructor(id: string, home: string, { searchPath, process }: { searchPath: string; process: string }) {
    this.id = id;
    this.#searchPath = searchPath;
    this.#process = process;
    this.#home = home;
    this.directory = path.join(home, 'workspace');
  }

  /** The files and directories in a directory, by name, without links and devices. */
  async list(input: string): Promise<SandboxEntry[]> {
    const place = await this.#requireExisting(input);
    if (!place.stats?.isDirectory()) throw notADirectory(place.displayPath);
    const names = (await readdir(place.realPath, { withFileTypes: true }))
      .filter((entry) => entry.isFile() || entry.isDirectory())
      .map((entry) => entry.name)
      .sort();
    await confirm(this.directory, place.realPath, place.displayPath);
    const entries: SandboxEntry[] = [];
    for (let start = 0; start < names.length; start += listingBatch) {
      const batch = names.slice(start, start + listingBatch).map((name) => this.#member(place, name));
      for (const entry of await Promise.all(batch)) if (entry) entries.push(entry);
    }
    return entries;
  }

  /** The entry at a path. */
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

  /** The first `limit` bytes of a file. */
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

  /**
   * A file as a stream from one open file, so that a later replacement does not mix in. `range` is in bytes, both ends included, and is
   * limited to the file; a range beyond its end gives an empty stream. `size` is that of the whole file. Read or destroy the stream.
   */
  async openRead(input: string, range?: { start: number; end: number }): Promise<{ stream: Readable; size: number; modifiedAt: Date }> {
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
    const directories = { root: this.directory, staging: path.join(this.#home, 'staging'), process: this.#process };
    return await writeFile(directories, input, data, options.limit);
  }

  /** Writes many files as `write` does, and syncs them together. All are looked up before the first appears. */
  async writeAll(files: AsyncIterable<NewFile>): Promise<void> {
    await writeFiles({ root: this.directory, staging: path.join(this.#home, 'staging'), process: this.#process }, files);
  }

  /** All files below a directory, or the file at the path. @param isHidden whether to leave out a path */
  async walk(input: string, isHidden: (displayPath: string) => boolean = () => false): Promise<FileTree> {
    return await walkFiles(this.directory, input, isHidden);
  }

  /** A folder next to the workspace that callers do not see; created if missing. `name` is a plain word. */
  async privateFolder(name: string): Promise<string> {
    const folder = path.join(this.#home, name);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return folder;
  }

  /**
   * Writes a file in such a folder. Programs can write there as well, so it follows no link that leads out of the folder. Throws like
   * `write`. @param mode the permissions of the file
   */
  async writePrivate(name: string, input: string, data: Uint8Array, mode = 0o600): Promise<void> {
    const root = await this.privateFolder(name);
    const directories = { root, staging: path.join(this.#home, 'staging'), process: this.#process };
    await writeFile(directories, input, data, undefined, mode);
  }

  /** Runs a command with /bin/sh in the workspace, confined by the launcher. When aborted, rejects with the signal's reason after all its processes have ended. */
  async exec(command: string, options: ExecOptions): Promise<ExecResult> {
    const temporary = path.join(this.#home, 'tmp');
    await mkdir(temporary, { recursive: true, mode: 0o700 });
    return await execute(command, { directory: this.directory, temporary, searchPath: this.#searchPath }, options);
  }

  async #requireExisting(input: string): Promise<Place> {
    const place = await locate(this.directory, input);
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
      await confirmOpen(this.directory, place, handle);
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
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
