/**
 * The files of a run, and command execution beside them. The file functions neither read nor write outside the sandbox's
 * directory; commands are not confined by anything here (see exec.ts). On disk a sandbox is `<root>/<id>/` with
 * `workspace/` (what callers see), `staging/` (uploads in progress), `tmp/` (TMPDIR of commands) and `browser/` (what its browser keeps).
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
/** How many files a listing looks into at the same time. */
const listingBatch = 16;

/** The sandboxes below one directory. */
export class SandboxStore {
  readonly #root: string;
  readonly #searchPath: string;
  readonly #trouble: (error: unknown) => void;
  /** How names of uploads begin that are being received: those of others were left there. */
  readonly #process = randomUUID();
  #isStagingSwept = false;

  /**
   * `path` is the PATH of commands; without it, the directories where systems keep their commands. `trouble` is told what keeps
   * something from being removed.
   */
  constructor(root: string, options: { path?: string; trouble?: (error: unknown) => void } = {}) {
    this.#root = path.resolve(root);
    this.#trouble = options.trouble ?? (() => undefined);
    this.#searchPath = options.path ?? systemPath;
  }

  /** Creates a sandbox, or opens it when it is there already. Throws `invalid_sandbox_id` for an id that is no plain word. */
  async create(id: string): Promise<Sandbox> {
    const home = this.#home(id);
    if (home === undefined) throw new ServiceError(400, 'invalid_sandbox_id', 'A sandbox id is made of letters, digits, - and _.');
    // What else belongs to it is made when it is needed: every run has a sandbox, and many write nothing.
    await mkdir(path.join(home, 'workspace'), { recursive: true, mode: 0o700 });
    return this.#sandbox(id, await realpath(home));
  }

  /** The sandbox with this id, or undefined when there is none. */
  async open(id: string): Promise<Sandbox | undefined> {
    const home = this.#home(id);
    if (home === undefined) return undefined;
    const stats = await lstat(path.join(home, 'workspace')).catch(() => undefined);
    return stats?.isDirectory() ? this.#sandbox(id, await realpath(home)) : undefined;
  }

  /** Whether something is there under this id, be it of no use. */
  async exists(id: string): Promise<boolean> {
    const home = this.#home(id);
    return home !== undefined && (await lstat(home).catch(() => undefined)) !== undefined;
  }

  /**
   * Takes a sandbox out of use at once, and returns what removes it; one of the same id may be created in the meantime. What cannot
   * be removed is told, and tried again by a sweep.
   */
  async putAside(id: string): Promise<() => Promise<void>> {
    const home = this.#home(id);
    if (home === undefined) return async () => undefined;
    // No sandbox has a dot in its id.
    const aside = `${home}.${randomUUID()}.removed`;
    await rename(home, aside).catch((error: unknown) => {
      if (!hasCode(error, 'ENOENT')) throw error;
    });
    return () => this.#removed(aside);
  }

  /** Removes what a crash has left there: what was put aside, lost its name a moment too late, or was still being received. */
  async sweep(): Promise<void> {
    for (const name of await readdir(this.#root).catch(() => [])) {
      if (/\.(removed|unnamed)$/.test(name)) await this.#removed(path.join(this.#root, name));
      else if (!this.#isStagingSwept) await this.#sweepStaging(path.join(this.#root, name, 'staging'));
    }
    // This process leaves nothing there while it lives.
    this.#isStagingSwept = true;
  }

  async #sweepStaging(staging: string): Promise<void> {
    for (const name of await readdir(staging).catch(() => []))
      if (!name.startsWith(this.#process)) await this.#removed(path.join(staging, name));
  }

  /** An empty file on the disk of the sandboxes, to read and write. It has no name any more, so it is gone when it is closed. */
  async namelessFile(): Promise<FileHandle> {
    await mkdir(this.#root, { recursive: true, mode: 0o700 });
    const name = path.join(this.#root, `${randomUUID()}.unnamed`);
    const handle = await open(name, 'wx+', 0o600);
    try {
      // A sweep may have been faster.
      await rm(name, { force: true });
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Removes a sandbox and everything in it; nothing happens when there is none. */
  async remove(id: string): Promise<void> {
    const home = this.#home(id);
    if (home !== undefined) await removeTree(home);
  }

  /** Commands of runs may have left what this user cannot remove: it keeps nobody from removing the rest. */
  #removed(place: string): Promise<void> {
    return removeTree(place).catch((error: unknown) => this.#trouble(error));
  }

  #sandbox(id: string, home: string): Sandbox {
    return new Sandbox(id, home, { searchPath: this.#searchPath, process: this.#process });
  }

  #home(id: string): string | undefined {
    return idPattern.test(id) ? path.join(this.#root, id) : undefined;
  }
}

/**
 * One sandbox. Every path may be written `/workspace/a`, `a` or `./a`. All file functions throw a ServiceError:
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

  /** The files and directories in a directory, by name. Links and devices are left out. */
  async list(given: string): Promise<SandboxEntry[]> {
    const place = await this.#existing(given);
    if (!place.stats?.isDirectory()) throw notADirectory(place.shown);
    const names = (await readdir(place.real, { withFileTypes: true }))
      .filter((entry) => entry.isFile() || entry.isDirectory())
      .map((entry) => entry.name)
      .sort();
    await confirm(this.directory, place.real, place.shown);
    const entries: SandboxEntry[] = [];
    for (let start = 0; start < names.length; start += listingBatch) {
      const batch = names.slice(start, start + listingBatch).map((name) => this.#member(place, name));
      for (const entry of await Promise.all(batch)) if (entry) entries.push(entry);
    }
    return entries;
  }

  /** What a path is. */
  async stat(given: string): Promise<SandboxEntry> {
    const place = await this.#existing(given);
    if (place.stats?.isDirectory()) return directoryEntry(place);
    const handle = await this.#openFile(place);
    try {
      return await fileEntry(place.shown, handle);
    } finally {
      await handle.close();
    }
  }

  /** The first `limit` bytes of a file. */
  async read(given: string, limit: number): Promise<{ entry: SandboxEntry; bytes: Buffer; truncated: boolean }> {
    const place = await this.#existing(given);
    const handle = await this.#openFile(place);
    try {
      const entry = await fileEntry(place.shown, handle);
      const bytes = await readStart(handle, Math.min(limit, entry.size));
      return { entry, bytes, truncated: entry.size > bytes.length };
    } finally {
      await handle.close();
    }
  }

  /**
   * A file as a stream, from one open file: what replaces it later does not mix in. `range` is in bytes, both ends included, and is
   * cut to the file; a range that begins behind its end gives an empty stream. `size` is that of the whole file. Read or destroy the stream.
   */
  async openRead(given: string, range?: { start: number; end: number }): Promise<{ stream: Readable; size: number; modifiedAt: Date }> {
    const handle = await this.#openFile(await this.#existing(given));
    try {
      const { size, mtime } = await handle.stat();
      const start = range?.start ?? 0;
      const end = Math.min(range?.end ?? size - 1, size - 1);
      return { stream: byteStream(handle, start, end), size, modifiedAt: mtime };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /**
   * Writes a file and the directories it needs. It appears complete or not at all; past `limit` bytes `file_too_large` (413)
   * is thrown and nothing is left behind.
   */
  async write(given: string, data: Uint8Array | ComingBytes, options: { limit?: number } = {}): Promise<{ path: string; size: number }> {
    const directories = { root: this.directory, staging: path.join(this.#home, 'staging'), process: this.#process };
    return await writeFile(directories, given, data, options.limit);
  }

  /** A folder beside the workspace that callers do not see; made when it is not there. `name` is a plain word. */
  async privateFolder(name: string): Promise<string> {
    const folder = path.join(this.#home, name);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return folder;
  }

  /** Runs a command with /bin/sh in the workspace. Rejects with the signal's reason when aborted, after everything it started has ended. */
  async exec(command: string, options: ExecOptions): Promise<ExecResult> {
    const temporary = path.join(this.#home, 'tmp');
    await mkdir(temporary, { recursive: true, mode: 0o700 });
    return await execute(command, { directory: this.directory, temporary, searchPath: this.#searchPath }, options);
  }

  async #existing(given: string): Promise<Place> {
    const place = await locate(this.directory, given);
    if (place.stats === undefined) throw fileNotFound(place.shown);
    return place;
  }

  async #member(directory: Place, name: string): Promise<SandboxEntry | undefined> {
    const place: Place = {
      shown: `${directory.shown}/${name}`,
      real: path.join(directory.real, name),
      stats: await lstat(path.join(directory.real, name)).catch(unlessTrouble),
    };
    if (place.stats?.isDirectory()) return directoryEntry(place);
    if (!place.stats?.isFile()) return undefined;
    // Gone, swapped or unreadable since the directory was read: not part of the listing.
    const handle = await this.#openFile(place).catch(unlessTrouble);
    try {
      return handle && (await fileEntry(place.shown, handle));
    } finally {
      await handle?.close();
    }
  }

  /** Opens a located file for reading and makes sure that the open file is the one inside the sandbox. */
  async #openFile(place: Place): Promise<FileHandle> {
    if (!place.stats?.isFile()) throw notAFile(place.shown);
    // O_NONBLOCK: should a named pipe have taken its place, opening must not wait for a writer.
    const handle = await open(place.real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((error: unknown) => {
      if (hasCode(error, 'ENOENT')) throw fileNotFound(place.shown);
      if (hasCode(error, 'ELOOP', 'ENXIO')) throw notAFile(place.shown);
      throw error;
    });
    try {
      const opened = await handle.stat();
      if (!opened.isFile()) throw notAFile(place.shown);
      await confirmOpen(this.directory, place, handle);
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }
}

/** Nothing, for what is not there any more. What the host is in trouble with may be there all the same. */
function unlessTrouble(error: unknown): undefined {
  if (hostTrouble(error) !== undefined) throw error;
}

function directoryEntry(place: Place): SandboxEntry {
  return {
    name: path.posix.basename(place.shown),
    path: place.shown,
    type: 'directory',
    size: 0,
    modifiedAt: (place.stats as NonNullable<Place['stats']>).mtime,
    isText: false,
    mimeType: null,
  };
}

async function fileEntry(shown: string, handle: FileHandle): Promise<SandboxEntry> {
  const { size, mtime } = await handle.stat();
  const head = await readStart(handle, Math.min(sniffLength, size));
  const name = path.posix.basename(shown);
  return { name, path: shown, type: 'file', size, modifiedAt: mtime, isText: isText(head, size > head.length), mimeType: mimeTypeOf(name) };
}

function byteStream(handle: FileHandle, start: number, end: number): Readable {
  // An end before the start cannot be asked of a file stream.
  if (start <= end) return handle.createReadStream({ start, end });
  const empty = Readable.from([]);
  empty.once('close', () => void handle.close());
  return empty;
}

async function readStart(handle: FileHandle, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(bytes, filled, length - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}
