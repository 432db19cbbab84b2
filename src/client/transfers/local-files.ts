/**
 * Writes files whose names come from the service. Nothing is written outside the target folder, no link is followed or
 * created, and a file appears under its name only when it is complete.
 */
import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { orAborted } from '../../base/abort.ts';
import { UsageError } from '../../base/errors.ts';
import { syncFiles } from '../../base/group-sync.ts';
import { makeFolders } from '../../base/make-folders.ts';
import { writeFailure } from '../../base/write-failure.ts';
import type { OpenFile } from './disk-file.ts';
import { safeParts } from './local-names.ts';
import { PartialFile } from './partial-file.ts';

/** Before the umask applies. */
const fileMode = 0o644;
const folderMode = 0o755;
/** How many pairs of names are tried. */
const maxTrials = 1_000;

/** The bytes of a file. `restart` discards those that were yielded before. */
export type Content = (restart: () => Promise<void>) => AsyncIterable<Uint8Array>;

/** The same content, reporting its progress: `onBytes` receives the number of bytes, negative when some were discarded. */
export const withByteCount = (content: Content, onBytes: (count: number) => void): Content =>
  async function* (restart) {
    let receivedCount = 0;
    const forget = (): void => {
      onBytes(-receivedCount);
      receivedCount = 0;
    };
    let complete = false;
    try {
      const chunks = content(async () => {
        forget();
        await restart();
      });
      for await (const chunk of chunks) {
        receivedCount += chunk.length;
        onBytes(chunk.length);
        yield chunk;
      }
      complete = true;
    } finally {
      if (!complete) forget();
    }
  };

export interface WriteOptions {
  /** Whether an existing plain file may be replaced; its permissions are kept. */
  replace: boolean;
  /** Ends the wait for the disk, but not the content. */
  signal?: AbortSignal;
  openFile?: OpenFile;
  /** Permissions of the file in any case; by default those of the file it replaces, or else as the umask allows. */
  mode?: number;
  /** The real path of a folder on the same disk for the incomplete file; by default the target's folder. */
  workFolder?: string;
}

/** A complete file without its name. */
export interface StagedFile {
  partial: PartialFile;
  temporaryPath: string;
  target: string;
  displayPath: string;
  /** Whether it takes the place of an existing file. */
  replaces: boolean;
}

/** A folder to write into. */
export class LocalFolder {
  readonly path: string;
  readonly #partsOf: (name: string) => readonly string[];
  #root: string | undefined;
  /** Real paths of folders that were checked or created, and whether they were created. */
  readonly #knownFolders = new Map<string, boolean>();
  /** Whether the disk distinguishes the names of a pair. */
  readonly #trials = new Map<string, boolean>();

  /**
   * @param folder absolute; created with the first file. It may be reached through a link, because the user named it
   * @param partsOf the parts of a name, once it is checked
   */
  constructor(folder: string, partsOf: (name: string) => readonly string[] = (name) => safeParts(name)) {
    this.path = folder;
    this.#partsOf = partsOf;
  }

  /** The path of a file below the folder. @throws AopsError `unsafe_name` */
  target(name: string): string {
    return this.#resolve(name).displayPath;
  }

  /**
   * Makes sure that the folder exists or can be created, without creating it.
   * @throws UsageError when there is a file in its place; AopsError `not_writable`
   */
  checkItself(): void {
    const parent = nearestFolder(this.path);
    if (!statSync(parent).isDirectory()) throw notAFolder(parent);
    try {
      accessSync(parent, parent === this.path ? constants.R_OK | constants.W_OK | constants.X_OK : constants.W_OK);
    } catch (error) {
      throw writeFailure(error, this.path);
    }
  }

  /** Whether the folder is empty or does not exist. Call `checkItself` first. */
  isEmpty(): boolean {
    return !existsSync(this.path) || readdirSync(this.path).length === 0;
  }

  /**
   * Whether two names in the same folder are two files on this disk, according to a trial. Not if nothing can be written there, or after
   * very many trials, which only a service that means harm causes.
   */
  distinguishes(name: string, otherName: string): boolean {
    const pair = `${name}/${otherName}`;
    const known = this.#trials.get(pair);
    if (known !== undefined || this.#trials.size >= maxTrials) return known === true;
    const isDistinguished = this.#tryNames(name, otherName);
    this.#trials.set(pair, isDistinguished);
    return isDistinguished;
  }

  #tryNames(name: string, otherName: string): boolean {
    let trial: string | undefined;
    try {
      trial = mkdtempSync(path.join(nearestFolder(this.path), '.aops-'));
      writeFileSync(path.join(trial, name), '');
      return !existsSync(path.join(trial, otherName));
    } catch {
      return false;
    } finally {
      if (trial !== undefined) rmSync(trial, { recursive: true, force: true });
    }
  }

  /**
   * Makes sure that a file can be written, without writing anything.
   * @throws UsageError when there is something that must not be replaced, or the path contains a link
   */
  check(name: string, replace: boolean): void {
    this.checkAll([name], replace);
  }

  /** The same for many files. */
  checkAll(names: readonly string[], replace: boolean): void {
    // Many files have the same folder, which is looked up once.
    const existing = new Map<string, boolean>();
    const exists = (folder: string): boolean => {
      let isThere = existing.get(folder);
      if (isThere === undefined) {
        const stats = statOf(folder);
        if (stats && !stats.isDirectory()) throw notAFolder(folder);
        isThere = stats !== undefined;
        existing.set(folder, isThere);
      }
      return isThere;
    };
    for (const name of names) {
      const { parts, displayPath } = this.#resolve(name);
      let folder = this.path;
      const isMissing = parts.slice(0, -1).some((part) => {
        folder = path.join(folder, part);
        return !exists(folder);
      });
      if (!isMissing) requireFree(displayPath, replace);
    }
  }

  /**
   * Writes a file completely or not at all, and returns its size.
   * @throws UsageError when it already exists and must not be replaced; AopsError `disk_full`, `not_writable`
   */
  async write(name: string, content: Content, { replace, signal, openFile, mode, workFolder }: WriteOptions): Promise<number> {
    const { parts, displayPath } = this.#resolve(name);
    let partial: PartialFile | undefined;
    try {
      const { folder, target, existing } = this.#freePlace(parts, replace, displayPath);
      partial = PartialFile.create(workFolder ?? folder, mode ?? fileMode, openFile);
      for await (const chunk of content(() => (partial as PartialFile).restart())) await partial.write(chunk);
      return await partial.finish(target, existing !== undefined, mode ?? existing?.mode, signal);
    } catch (error) {
      partial?.discard();
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw existsAlready(displayPath, true);
      throw writeFailure(error, displayPath);
    }
  }

  /**
   * Writes a file that appears only when `place` is called, without waiting for the disk.
   * @throws what `write` throws
   */
  async stage(name: string, content: Iterable<Uint8Array>, replace: boolean): Promise<StagedFile> {
    const { parts, displayPath } = this.#resolve(name);
    let partial: PartialFile | undefined;
    try {
      const { folder, target, existing } = this.#freePlace(parts, replace, displayPath);
      partial = PartialFile.create(folder, fileMode);
      for (const chunk of content) await partial.write(chunk);
      return { partial, temporaryPath: partial.close(existing?.mode), target, displayPath, replaces: existing !== undefined };
    } catch (error) {
      partial?.discard();
      throw writeFailure(error, displayPath);
    }
  }

  /**
   * Gives staged files their names when all of them are on the disk. If that fails, those that have no name yet are removed.
   * @param onPlaced called after each file
   * @throws what `write` throws
   */
  async place(files: readonly StagedFile[], signal: AbortSignal, onPlaced: () => void): Promise<void> {
    const remainingFiles = [...files];
    try {
      await orAborted(syncFiles(files.map(({ temporaryPath }) => temporaryPath)), signal);
      for (const { partial, target, displayPath, replaces } of files) {
        try {
          partial.place(target, replaces);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw existsAlready(displayPath, true);
          throw writeFailure(error, displayPath);
        }
        remainingFiles.shift();
        onPlaced();
      }
    } finally {
      for (const { partial } of remainingFiles) partial.discard();
    }
  }

  /** The parts of a name and its path below the folder. @throws AopsError `unsafe_name` */
  #resolve(name: string): { parts: readonly string[]; displayPath: string } {
    const parts = this.#partsOf(name);
    return { parts, displayPath: path.join(this.path, ...parts) };
  }

  /** Where a file goes, in a folder that exists, and the file that it replaces. @throws UsageError when that must not be replaced */
  #freePlace(
    parts: readonly string[],
    replace: boolean,
    displayPath: string,
  ): { folder: string; target: string; existing: Stats | undefined } {
    const folder = this.#folder(parts.slice(0, -1));
    const target = path.join(folder, parts.at(-1) as string);
    // Nothing is in a folder that was just created. If something appears there, it is not replaced when the file gets its name.
    const isNew = !replace && this.#knownFolders.get(folder) === true;
    return { folder, target, existing: isNew ? undefined : requireFree(target, replace, displayPath) };
  }

  /** The real path of a folder below the root, created if it is missing; links in it are rejected. */
  #folder(parts: readonly string[]): string {
    this.#root ??= makeRoot(this.path);
    let folder = this.#root;
    for (const part of parts) {
      folder = path.join(folder, part);
      if (!this.#knownFolders.has(folder)) this.#knownFolders.set(folder, makeFolder(folder));
    }
    return folder;
  }
}

/**
 * A file that the user has named: the folder it is in, and its name there, which may be any that the system accepts.
 * @param file absolute
 */
export const chosenFile = (file: string): { folder: LocalFolder; name: string } => ({
  folder: new LocalFolder(path.dirname(file), (name) => [name]),
  name: path.basename(file),
});

/** The folder, or what exists above it. */
function nearestFolder(folder: string): string {
  let nearest = folder;
  while (!existsSync(nearest)) nearest = path.dirname(nearest);
  return nearest;
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

/** Returns whether the folder was missing. */
function makeFolder(folder: string): boolean {
  const isMissing = statOf(folder) === undefined;
  if (isMissing) mkdirSync(folder, { mode: folderMode });
  if (!lstatSync(folder).isDirectory()) throw notAFolder(folder);
  return isMissing;
}

/** The status of a path, of a link rather than its target; undefined when there is nothing, or nothing that is visible. */
function statOf(target: string): Stats | undefined {
  try {
    return lstatSync(target, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** The status of an existing target that may be replaced; undefined when there is nothing. */
function requireFree(target: string, replace: boolean, displayPath = target): Stats | undefined {
  const existing = statOf(target);
  if (existing && (!replace || !existing.isFile())) throw existsAlready(displayPath, existing.isFile());
  return existing;
}

const existsAlready = (target: string, isFile: boolean): UsageError =>
  new UsageError(
    `${target} already exists.`,
    isFile ? 'Allow replacing it with --force, or choose another target.' : 'It is not a plain file. Choose another target.',
    'file_exists',
  );

const notAFolder = (folder: string): UsageError =>
  new UsageError(`${folder} is not a directory, so nothing can be written below it.`, 'Choose another folder.');
