/** A file that is being written under a temporary name, next to its target or in a work folder. It gets its name only when it is complete. */
import { randomUUID } from 'node:crypto';
import { linkSync, realpathSync, renameSync, rmSync, unlinkSync } from 'node:fs';
import path from 'node:path';
import { orAborted } from '../../base/abort.ts';
import { UsageError } from '../../base/errors.ts';
import { canNotLink } from '../../base/hard-links.ts';
import { ignoreErrors } from '../../base/ignore-errors.ts';
import { type DiskFile, type OpenFile, openDiskFile } from './disk-file.ts';

export class PartialFile {
  readonly #disk: DiskFile;
  readonly #file: string;
  #position = 0;
  #writing: Promise<void> = Promise.resolve();
  #syncDone: Promise<void> = Promise.resolve();
  #isClosed = false;

  private constructor(disk: DiskFile, file: string) {
    this.#disk = disk;
    this.#file = file;
  }

  /**
   * @param folder the real path of the folder for the temporary file
   * @param mode permissions before the umask applies
   * @throws UsageError when the folder was replaced with a link in the meantime
   */
  static create(folder: string, mode: number, openFile: OpenFile = openDiskFile): PartialFile {
    const file = path.join(folder, `.aops-${randomUUID()}.part`);
    const partial = new PartialFile(openFile(file, mode), file);
    // The folder was not a link when it was checked. If it has become one, it has to be noticed now, before anything is written.
    if (realPath(folder) === folder) return partial;
    partial.discard();
    throw new UsageError(`${folder} was replaced during the download, so nothing was written to it.`, 'Run the command again.');
  }

  /** Appends to the content. */
  write(chunk: Uint8Array): Promise<void> {
    this.#writing = this.#writeAll(chunk);
    return this.#writing;
  }

  /** Discards what was written. */
  async restart(): Promise<void> {
    this.#position = 0;
    await this.#disk.empty();
  }

  /**
   * Gives the file its final name. Returns its size.
   * @param replace if false, a file that has appeared there in the meantime stays, and the error's code is EEXIST
   * @param mode permissions, regardless of the umask
   * @param signal ends the wait for the disk
   */
  async finish(target: string, replace: boolean, mode: number | undefined, signal: AbortSignal | undefined): Promise<number> {
    this.#syncDone = this.#disk.sync();
    await (signal ? orAborted(this.#syncDone, signal) : this.#syncDone);
    this.close(mode);
    this.place(target, replace);
    return this.#position;
  }

  /**
   * Closes the file, which can then be synced together with others by its path.
   * @param mode permissions, regardless of the umask
   */
  close(mode: number | undefined): string {
    if (mode !== undefined) this.#disk.setMode(mode & 0o777);
    this.#close();
    return this.#file;
  }

  /** Gives the closed file its final name. @param replace as in `finish` */
  place(target: string, replace: boolean): void {
    if (replace) renameSync(this.#file, target);
    else moveNew(this.#file, target);
  }

  /** Removes the file. */
  discard(): void {
    // The file is removed first: a user who cancelled should not have to wait for the disk.
    ignoreErrors(() => rmSync(this.#file));
    // The descriptor of a closed file may already belong to another file.
    if (this.#isClosed) return;
    // Data that was not written yet need not be written any more.
    const truncation = this.#disk.empty();
    void Promise.allSettled([this.#writing, this.#syncDone, truncation]).then(() => ignoreErrors(() => this.#close()));
  }

  #close(): void {
    this.#isClosed = true;
    this.#disk.close();
  }

  async #writeAll(chunk: Uint8Array): Promise<void> {
    // A disk that is nearly full accepts only a part; the next write reports why.
    for (let remaining = chunk; remaining.length > 0; ) {
      const bytesWritten = await this.#disk.write(remaining, this.#position);
      this.#position += bytesWritten;
      remaining = remaining.subarray(bytesWritten);
    }
  }
}

/** Renames without replacing: creates a second name, which fails if it exists, and removes the first. */
function moveNew(file: string, target: string): void {
  try {
    linkSync(file, target);
  } catch (error) {
    if (!canNotLink(error as NodeJS.ErrnoException)) throw error;
    renameSync(file, target);
    return;
  }
  unlinkSync(file);
}

function realPath(folder: string): string | undefined {
  try {
    return realpathSync.native(folder);
  } catch {
    return undefined;
  }
}
