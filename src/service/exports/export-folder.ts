/** The folder that an export is written to, and the file with its progress, which a later attempt continues from. */
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { takeLock } from '../../base/lock-file.ts';
import { makeFolders } from '../../base/make-folders.ts';
import { syncFolder } from '../../base/sync-folder.ts';
import { isObject, jsonValue } from '../../base/values.ts';
import { writeFailure } from '../../base/write-failure.ts';
import type { Problem } from '../backup/progress.ts';
import type { Key } from '../store/database/portable/rows.ts';
import { fileListName, formatVersion, type Manifest, manifestName, type TableEntry } from './format.ts';
import type { Position } from './lines.ts';
import { busyFolder, existingExport, foreignFolder } from './problems.ts';

export const progressName = 'progress.json';
const lockName = '.lock';
/** What an attempt that begins anew removes. */
const parts: readonly string[] = ['tables', 'files', 'sandboxes', fileListName];
const ownNames: readonly string[] = [...parts, progressName, `${progressName}.new`, `${manifestName}.new`, lockName];
/** A lock is refreshed more often than this; an older one was left by a process that was killed. */
const lockTimes = { staleMilliseconds: 5_000, waitMilliseconds: 7_000 };

/** How far an export has come. Everything that it describes is on the disk. */
export interface ExportProgress {
  format: number;
  /** The mark in the database: as long as it is there, nothing has changed. */
  mark: string;
  schema: string;
  /** The tables that are complete. */
  tables: TableEntry[];
  /** The table after these, as far as it has been written. */
  current?: Position & { table: string; last: Key };
  /** What is not contained as it should be. */
  problems: Problem[];
  /** The list of files, as far as it has been written. */
  files?: FilesProgress;
}

/** The position in the list, and what has been written by then. */
export interface FilesProgress extends Position {
  content_bytes: number;
  /** How many of the files are archives of sandboxes. */
  sandboxes: number;
  /** The table and the ID whose file is the last one that was written or left out. */
  part: 'run_files' | 'sandboxes';
  after: string | null;
}

export class ExportFolder {
  readonly path: string;
  readonly #touchedFolders = new Set<string>();
  readonly #unlock: () => void;

  private constructor(folder: string, unlock: () => void) {
    this.path = folder;
    this.#unlock = unlock;
  }

  /**
   * Opens a folder that is new, empty, or contains the beginning of an export.
   * @throws AopsError `export_exists`, `folder_not_empty`, `export_running`, `not_writable`
   */
  static async open(folder: string, signal: AbortSignal): Promise<ExportFolder> {
    try {
      makeFolders(folder, 0o700);
      const names = await readdir(folder);
      if (names.includes(manifestName)) throw existingExport(folder);
      const foreign = names.find((name) => !ownNames.includes(name));
      if (foreign !== undefined || (names.includes('tables') && !names.includes(progressName)))
        throw foreignFolder(folder, foreign ?? 'tables');
      const unlock = await takeLock(path.join(folder, lockName), { ...lockTimes, signal });
      if (unlock === undefined) throw busyFolder(folder);
      return new ExportFolder(folder, unlock);
    } catch (error) {
      throw writeFailure(error, folder);
    }
  }

  file(name: string): string {
    return path.join(this.path, name);
  }

  /** The progress of an earlier attempt; undefined if there was none, or an older version began it. */
  async progress(): Promise<ExportProgress | undefined> {
    const text = await readFile(this.file(progressName), 'utf8').catch(() => '');
    const value = jsonValue(text);
    return isObject(value) && value.format === formatVersion ? (value as unknown as ExportProgress) : undefined;
  }

  async save(progress: ExportProgress): Promise<void> {
    await this.#write(progressName, JSON.stringify(progress));
  }

  /** Begins anew: removes everything that an earlier attempt has left. */
  async clear(progress: ExportProgress): Promise<void> {
    await this.save(progress);
    for (const name of parts) await rm(this.file(name), { recursive: true, force: true });
    await mkdir(this.file('tables'), { mode: 0o700 });
  }

  /** Notes that files have been created in a folder of the export. */
  touchNames(folder: string): void {
    this.#touchedFolders.add(folder).add(path.dirname(folder)).add(this.path);
  }

  /** Makes the names of new files durable. */
  async syncNames(): Promise<void> {
    for (const folder of this.#touchedFolders) await syncFolder(folder);
    this.#touchedFolders.clear();
  }

  /** Writes the manifest, with which the export is complete. */
  async complete(manifest: Manifest): Promise<void> {
    await syncFolder(this.file('tables'));
    await this.#write(manifestName, `${JSON.stringify(manifest, null, 2)}\n`);
    await rm(this.file(progressName), { force: true });
  }

  close(): void {
    this.#unlock();
  }

  /** Writes a file completely or not at all. */
  async #write(name: string, text: string): Promise<void> {
    const handle = await open(this.file(`${name}.new`), 'w', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(this.file(`${name}.new`), this.file(name));
    await syncFolder(this.path);
  }
}
