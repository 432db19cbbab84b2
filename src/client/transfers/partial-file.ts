/** A file that is being written: under a name of its own, beside its target or in a folder for it, which it takes only when it is complete. */
import { randomBytes } from 'node:crypto';
import { linkSync, realpathSync, renameSync, rmSync, unlinkSync } from 'node:fs';
import path from 'node:path';
import { orAborted } from '../../base/abort.ts';
import { UsageError } from '../../base/errors.ts';
import { ignoreErrors } from '../../base/ignore-errors.ts';
import { type DiskFile, type OpenFile, openDiskFile } from './disk-file.ts';

export class PartialFile {
  readonly #disk: DiskFile;
  readonly #file: string;
  #position = 0;
  #writing: Promise<void> = Promise.resolve();
  #syncing: Promise<void> = Promise.resolve();
  #closed = false;

  private constructor(disk: DiskFile, file: string) {
    this.#disk = disk;
    this.#file = file;
  }

  /**
   * @param folder the real path of the folder that it is in meanwhile
   * @param mode permissions, less those that the umask takes
   * @throws UsageError when the folder was replaced by a link meanwhile
   */
  static create(folder: string, mode: number, openFile: OpenFile = openDiskFile): PartialFile {
    const file = path.join(folder, `.aops-${randomBytes(8).toString('hex')}.part`);
    const partial = new PartialFile(openFile(file, mode), file);
    // The folder was no link when it was looked at. If it has become one, this is the moment to see it: nothing is written yet.
    if (realPath(folder) === folder) return partial;
    partial.discard();
    throw new UsageError(`${folder} was replaced while it was written to; nothing is written through it.`, 'Run the command again.');
  }

  /** Appends to the content. */
  write(chunk: Uint8Array): Promise<void> {
    this.#writing = this.#writeAll(chunk);
    return this.#writing;
  }

  /** Forgets what was written. */
  async restart(): Promise<void> {
    this.#position = 0;
    await this.#disk.empty();
  }

  /**
   * Gives the file its name. Returns its size.
   * @param replace false: what has appeared there meanwhile stays, and the error's code is EEXIST
   * @param mode permissions that it gets whatever the umask
   * @param signal ends the wait for the disk
   */
  async finish(target: string, replace: boolean, mode: number | undefined, signal: AbortSignal | undefined): Promise<number> {
    if (mode !== undefined) this.#disk.setMode(mode & 0o777);
    this.#syncing = this.#disk.sync();
    await (signal ? orAborted(this.#syncing, signal) : this.#syncing);
    this.#close();
    if (replace) renameSync(this.#file, target);
    else moveNew(this.#file, target);
    return this.#position;
  }

  /** Removes the file. */
  discard(): void {
    // First of all: whoever gave up is not to wait for the disk before it is gone.
    ignoreErrors(() => rmSync(this.#file, { force: true }));
    if (this.#closed) return;
    // What was not written yet need not be, now.
    const emptied = this.#disk.empty();
    void Promise.allSettled([this.#writing, this.#syncing, emptied]).then(() => ignoreErrors(() => this.#close()));
  }

  /** Once: the number of a closed file may be that of another one already. */
  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#disk.close();
  }

  async #writeAll(chunk: Uint8Array): Promise<void> {
    // A disk that is nearly full takes a part; the next attempt says why.
    for (let rest = chunk; rest.length > 0; ) {
      const written = await this.#disk.write(rest, this.#position);
      this.#position += written;
      rest = rest.subarray(written);
    }
  }
}

/** Renames without replacing: a second name is made, which fails where there is one, and the first is taken away. */
function moveNew(file: string, target: string): void {
  try {
    linkSync(file, target);
  } catch (error) {
    if (!canNotLink.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    renameSync(file, target);
    return;
  }
  unlinkSync(file);
}

/** What file systems say that know no second names. */
const canNotLink = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EINVAL']);

function realPath(folder: string): string | undefined {
  try {
    return realpathSync.native(folder);
  } catch {
    return undefined;
  }
}
