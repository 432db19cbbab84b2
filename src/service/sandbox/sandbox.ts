/**
 * The files of a run, and command execution in their directory. The file functions neither read nor write outside the sandbox's
 * directory; how far commands are confined depends on their launcher (see launch.ts). On disk, a sandbox is `<root>/<id>/` with
 * `workspace/` (what callers see), `staging/` (uploads in progress), `tmp/` (TMPDIR of commands), and `browser/` (state of its browser).
 */

import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, realpath, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { removeTree } from '../../base/remove-tree.ts';
import { ServiceError } from '../errors.ts';
import { hostTrouble } from '../host-trouble.ts';
import { type ExecOptions, type ExecResult, execute, systemPath } from './exec.ts';
import { isText, mimeTypeOf, sniffLength } from './file-kind.ts';
import { confirm, confirmOpen, fileNotFound, hasCode, locate, notADirectory, notAFile, type Place } from './paths.ts';
import { type ComingBytes, writeFile } from './write.ts';

export type { ExecOptions, ExecResult } from './exec.ts';

/** A file or directory of a sandbox. */
export interface SandboxEntry {
  name: string;
  /** `/workspace/...` */
  path: string;
  type: 'file' | 'directory';
  /** Bytes; 0 for a directory. */
  size: number;
  modifiedAt: Date;
  /** Valid UTF-8 without NUL in its first 64 KiB; false for a directory. */
  isText: boolean;
  mimeType: string | null;
}

const idPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;
/** How often the creation of a sandbox is tried while it is put aside again and again. */
const maxAttempts = 10;
/** The number of files that a listing reads at the same time. */
const listingBatch = 16;

/** The sandboxes below one directory. */
export class SandboxStore {
  readonly #root: string;
  readonly #searchPath: string;
  readonly #onTrouble: (error: unknown) => void;
  /** The prefix of uploads that this process is receiving; files with other prefixes were left behind. */
  readonly #process = randomUUID();
  #isStagingSwept = false;
  /** The temporary sandboxes in use. */
  readonly #temporary = new Set<string>();

  /**
   * `path` is the PATH of commands; by default, the directories where systems keep their commands. `onProblem` is called with errors
   * that prevent something from being removed.
   */
  constructor(root: string, options: { path?: string; onProblem?: (error: unknown) => void } = {}) {
    this.#root = path.resolve(root);
    this.#onTrouble = options.onProblem ?? (() => undefined);
    this.#searchPath = options.path ?? systemPath;
  }

  /** Creates a sandbox, or opens an existing one. Throws `invalid_sandbox_id` for an ID that is not a plain word. */
  async create(id: string): Promise<Sandbox> {
    const home = this.#home(id);
    if (home === undefined) throw new ServiceError(400, 'invalid_sandbox_id', 'A sandbox ID can contain letters, digits, - and _.');
    for (let attempt = 1; ; attempt++) {
      try {
        // The rest is created on demand: every run has a sandbox, and many never write to it.
        await mkdir(path.join(home, 'workspace'), { recursive: true, mode: 0o700 });
        return this.#sandbox(id, await realpath(home));
      } catch (error) {
        // It might have been put aside in the meantime.
        if (!hasCode(error, 'ENOENT') || attempt === maxAttempts) throw error;
      }
    }
  }

  /** The sandbox with this ID, or undefined if it does not exist. */
  async open(id: string): Promise<Sandbox | undefined> {
    const home = this.#home(id);
    if (home === undefined) return undefined;
    const stats = await lstat(path.join(home, 'workspace')).catch(() => undefined);
    if (!stats?.isDirectory()) return undefined;
    const realHome = await realpath(home).catch((error: unknown) => {
      if (!hasCode(error, 'ENOENT')) throw error;
    });
    return realHome === undefined ? undefined : this.#sandbox(id, realHome);
  }

  /** Does work in a sandbox that belongs to no run, and is removed afterwards. */
  async inTemporary<T>(work: (sandbox: Sandbox) => Promise<T>): Promise<T> {
    const id = randomUUID();
    // No sandbox ID contains a dot.
    const name = `${id}.temporary`;
    const home = path.join(this.#root, name);
    this.#temporary.add(name);
    try {
      await mkdir(path.join(home, 'workspace'), { recursive: true, mode: 0o700 });
      return await work(this.#sandbox(id, await realpath(home)));
    } finally {
      await this.#removeTree(home);
      this.#temporary.delete(name);
    }
  }

  /** Whether anything exists under this ID, even if it is not usable. */
  async exists(id: string): Promise<boolean> {
    const home = this.#home(id);
    return home !== undefined && (await lstat(home).catch(() => undefined)) !== undefined;
  }

  /**
   * Takes a sandbox out of use immediately, and returns a function that removes it; another one with the same ID can be created in
   * the meantime. If something cannot be removed, it is reported, and a sweep tries again.
   */
  async putAside(id: string): Promise<() => Promise<void>> {
    const home = this.#home(id);
    if (home === undefined) return async () => undefined;
    // No sandbox ID contains a dot.
    const removedPath = `${home}.${randomUUID()}.removed`;
    await rename(home, removedPath).catch((error: unknown) => {
      if (!hasCode(error, 'ENOENT')) throw error;
    });
    return () => this.#removeTree(removedPath);
  }

  /** Removes what a crash has left behind: sandboxes that were being removed, unnamed files, and incomplete uploads. */
  async sweep(): Promise<void> {
    for (const name of await readdir(this.#root).catch(() => [])) {
      if (this.#temporary.has(name)) continue;
      if (/\.(removed|unnamed|temporary)$/.test(name)) await this.#removeTree(path.join(this.#root, name));
      else if (!this.#isStagingSwept) await this.#sweepStaging(path.join(this.#root, name, 'staging'));
    }
    // Files of this process are in use.
    this.#isStagingSwept = true;
  }

  async #sweepStaging(staging: string): Promise<void> {
    for (const name of await readdir(staging).catch(() => []))
      if (!name.startsWith(this.#process)) await this.#removeTree(path.join(staging, name));
  }

  /** An empty file on the disk of the sandboxes, for reading and writing. It has no name any more, so closing removes it. */
  async openAnonymousFile(): Promise<FileHandle> {
    await mkdir(this.#root, { recursive: true, mode: 0o700 });
    const name = path.join(this.#root, `${randomUUID()}.unnamed`);
    const handle = await open(name, 'wx+', 0o600);
    try {
      // A sweep might have been faster.
      await rm(name, { force: true });
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Removes a sandbox and everything in it, if it exists. */
  async remove(id: string): Promise<void> {
    const home = this.#home(id);
    if (home !== undefined) await removeTree(home);
  }

  /** Commands of runs might have left files that this user cannot remove; the rest is removed all the same. */
  #removeTree(place: string): Promise<void> {
    return removeTree(place).catch((error: unknown) => this.#onTrouble(error));
  }

  #sandbox(id: string, home: string): Sandbox {
    return new Sandbox(id, home, { searchPath: this.#searchPath, process: this.#process });
  }

  #home(id: string): string | undefined {
    return idPattern.test(id) ? path.join(this.#root, id) : undefined;
  }
}

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
    const handle = await this.#openFile(place);
    try {
      return await fileEntry(place.displayPath, handle);
    } finally {
      await handle.close();
    }
  }

  /** The first `limit` bytes of a file. */
  async read(input: string, limit: number): Promise<{ entry: SandboxEntry; bytes: Buffer; truncated: boolean }> {
    const place = await this.#requireExisting(input);
    const handle = await this.#openFile(place);
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
    const handle = await this.#openFile(await this.#requireExisting(input));
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
    const handle = await this.#openFile(place).catch(unlessTrouble);
    try {
      return handle && (await fileEntry(place.displayPath, handle));
    } finally {
      await handle?.close();
    }
  }

  /** Opens a located file for reading and verifies that the open file is inside the sandbox. */
  async #openFile(place: Place): Promise<FileHandle> {
    if (!place.stats?.isFile()) throw notAFile(place.displayPath);
    // O_NONBLOCK: if a named pipe has replaced the file, opening must not wait for a writer.
    const handle = await open(place.realPath, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((error: unknown) => {
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

function directoryEntry(place: Place): SandboxEntry {
  return {
    name: path.posix.basename(place.displayPath),
    path: place.displayPath,
    type: 'directory',
    size: 0,
    modifiedAt: (place.stats as NonNullable<Place['stats']>).mtime,
    isText: false,
    mimeType: null,
  };
}

async function fileEntry(displayPath: string, handle: FileHandle): Promise<SandboxEntry> {
  const { size, mtime } = await handle.stat();
  const head = await readStart(handle, Math.min(sniffLength, size));
  const name = path.posix.basename(displayPath);
  return {
    name,
    path: displayPath,
    type: 'file',
    size,
    modifiedAt: mtime,
    isText: isText(head, size > head.length),
    mimeType: mimeTypeOf(name),
  };
}

function byteStream(handle: FileHandle, start: number, end: number): Readable {
  // A file stream does not support an end before its start.
  if (start <= end) return handle.createReadStream({ start, end });
  const empty = Readable.from([]);
  empty.once('close', () => void handle.close());
  return empty;
}

async function readStart(handle: FileHandle, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  let bytesFilled = 0;
  while (bytesFilled < length) {
    const { bytesRead } = await handle.read(bytes, bytesFilled, length - bytesFilled, bytesFilled);
    if (bytesRead === 0) break;
    bytesFilled += bytesRead;
  }
  return bytes.subarray(0, bytesFilled);
}
