/**
 * Writing files whose names come from the service. Nothing is written outside the target folder, no link is
 * followed or made, and a file appears under its name only when it is complete.
 */
import { accessSync, constants, existsSync, lstatSync, mkdirSync, readdirSync, realpathSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { UsageError } from '../../base/errors.ts';
import { makeFolders } from '../../base/make-folders.ts';
import { writeFailure } from '../../base/write-failure.ts';
import type { OpenFile } from './disk-file.ts';
import { safeParts } from './local-names.ts';
import { PartialFile } from './partial-file.ts';

/** Less what the umask takes. */
const fileMode = 0o644;
const folderMode = 0o755;

/** The bytes of a file. `restart` forgets those that were given before. */
export type Content = (restart: () => Promise<void>) => AsyncIterable<Uint8Array>;

/** The same content, told of: `onBytes` gets the bytes that came, and less than 0 when some are of no use after all. */
export const counted = (content: Content, onBytes: (count: number) => void): Content =>
  async function* (restart) {
    let received = 0;
    const forget = (): void => {
      onBytes(-received);
      received = 0;
    };
    let complete = false;
    try {
      const chunks = content(async () => {
        forget();
        await restart();
      });
      for await (const chunk of chunks) {
        received += chunk.length;
        onBytes(chunk.length);
        yield chunk;
      }
      complete = true;
    } finally {
      if (!complete) forget();
    }
  };

export interface WriteOptions {
  /** Whether a plain file that is there already may be replaced; its permissions stay. */
  replace: boolean;
  /** Ends the wait for the disk; the content has to end by itself. */
  signal?: AbortSignal;
  openFile?: OpenFile;
  /** Permissions that it gets, whatever is there; default what the umask leaves, or those of a file that is replaced. */
  mode?: number;
  /** The real path of a folder on the same disk, in which it is until it is complete; default that in which it will be. */
  workFolder?: string;
}

/** A folder to write into. */
export class LocalFolder {
  readonly path: string;
  #root: string | undefined;
  /** Real paths of folders that were looked at, or made. */
  readonly #made = new Set<string>();

  /** @param folder absolute; made with the first file. It may be reached through a link: the user named it */
  constructor(folder: string) {
    this.path = folder;
  }

  /** The path of a file below the folder. @throws AopsError `unsafe_name` */
  target(name: string): string {
    return path.join(this.path, ...safeParts(name));
  }

  /**
   * Makes sure that the folder is one, or can be made, without making it.
   * @throws UsageError when a file is in its way; AopsError `not_writable`
   */
  checkItself(): void {
    let above = this.path;
    while (!existsSync(above)) above = path.dirname(above);
    if (!statSync(above).isDirectory()) throw notAFolder(above);
    try {
      accessSync(above, above === this.path ? constants.R_OK | constants.W_OK | constants.X_OK : constants.W_OK);
    } catch (error) {
      throw writeFailure(error, this.path);
    }
  }

  /** Whether nothing is in the folder yet, also where it does not exist. Call `checkItself` first. */
  isEmpty(): boolean {
    return !existsSync(this.path) || readdirSync(this.path).length === 0;
  }

  /**
   * Makes sure that a file can be written, without writing anything.
   * @throws UsageError when something is there that may not be replaced, or a link is in its way
   */
  check(name: string, replace: boolean): void {
    const parts = safeParts(name);
    let folder = this.path;
    for (const part of parts.slice(0, -1)) {
      folder = path.join(folder, part);
      const found = lookAt(folder);
      if (found === undefined) return;
      if (!found.isDirectory()) throw notAFolder(folder);
    }
    requireFree(this.target(name), replace);
  }

  /**
   * Writes a file completely or not at all, and returns its size.
   * @throws UsageError when it exists already and may not be replaced; AopsError `disk_full`, `not_writable`
   */
  async write(name: string, content: Content, { replace, signal, openFile, mode, workFolder }: WriteOptions): Promise<number> {
    const parts = safeParts(name);
    const shown = this.target(name);
    let partial: PartialFile | undefined;
    try {
      const folder = this.#folder(parts.slice(0, -1));
      const target = path.join(folder, parts.at(-1) as string);
      const existing = requireFree(target, replace, shown);
      partial = PartialFile.create(workFolder ?? folder, mode ?? fileMode, openFile);
      for await (const chunk of content(() => (partial as PartialFile).restart())) await partial.write(chunk);
      return await partial.finish(target, existing !== undefined, mode ?? existing?.mode, signal);
    } catch (error) {
      partial?.discard();
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw existsAlready(shown, true);
      throw writeFailure(error, shown);
    }
  }

  /** The real path of a folder below the root, made where it is missing; links among its parts are refused. */
  #folder(parts: readonly string[]): string {
    this.#root ??= makeRoot(this.path);
    let folder = this.#root;
    for (const part of parts) {
      folder = path.join(folder, part);
      if (this.#made.has(folder)) continue;
      makeFolder(folder);
      this.#made.add(folder);
    }
    return folder;
  }
}

function makeRoot(folder: string): string {
  try {
    makeFolders(folder, folderMode);
    return realpathSync.native(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code === 'EEXIST' || code === 'ENOTDIR' ? notAFolder(folder) : error;
  }
}

function makeFolder(folder: string): void {
  if (lookAt(folder) === undefined) mkdirSync(folder, { mode: folderMode });
  if (!lstatSync(folder).isDirectory()) throw notAFolder(folder);
}

/** What is at a path, a link itself rather than what it leads to; undefined for nothing, or nothing that can be seen. */
function lookAt(target: string): Stats | undefined {
  try {
    return lstatSync(target, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** What is at a target and may be replaced; undefined when there is nothing. */
function requireFree(target: string, replace: boolean, shown = target): Stats | undefined {
  const existing = lookAt(target);
  if (existing && (!replace || !existing.isFile())) throw existsAlready(shown, existing.isFile());
  return existing;
}

const existsAlready = (target: string, isFile: boolean): UsageError =>
  new UsageError(
    `${target} exists already.`,
    isFile ? 'Allow replacing it with --force, or choose another place.' : 'It is not a plain file; choose another place.',
    'file_exists',
  );

const notAFolder = (folder: string): UsageError =>
  new UsageError(`${folder} is not a directory; nothing is written through it.`, 'Choose another folder.');
