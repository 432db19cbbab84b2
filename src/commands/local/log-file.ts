/**
 * Limits the size of the log file of `aops local up`. The file is copied to another one next to it and then truncated, so that a
 * process that has it open for appending, such as the service with its standard error, continues in the same file. A crash in between
 * leaves some lines in both files, but loses none.
 */
import { copyFileSync, fstatSync, renameSync, statSync, truncateSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { open } from 'node:fs/promises';
import { ignoreErrors } from '../../base/ignore-errors.ts';
import { isAbsent } from '../../base/read-failure.ts';

/** Maximum size of the file, and of the one next to it; bytes. */
export const logFileLimit = 10 * 1024 * 1024;

/** The file next to it, with the earlier log. */
export const earlierLog = (file: string): string => `${file}.1`;

/**
 * Returns a function that truncates a log file if it is too large. Undefined if the standard error of this process is not that file:
 * then whoever started the process manages its log.
 */
export function boundedLog(file: string, limit = logFileLimit): (() => void) | undefined {
  let isOwn = false;
  ignoreErrors(() => {
    isOwn = isSame(fstatSync(2), statSync(file));
  });
  return isOwn ? () => keepWithin(file, limit) : undefined;
}

const isSame = (file: { dev: number; ino: number }, otherFile: { dev: number; ino: number }): boolean =>
  file.dev === otherFile.dev && file.ino === otherFile.ino;

/** Truncates a log file that is larger than the limit, in bytes. If the disk is full, the log is not changed. */
export function keepWithin(file: string, limit: number): void {
  ignoreErrors(() => {
    if (statSync(file).size <= limit) return;
    copyFileSync(file, `${earlierLog(file)}.new`);
    renameSync(`${earlierLog(file)}.new`, earlierLog(file));
    truncateSync(file, 0);
  });
}

/** Reads a log from its earlier part to its end, and then new entries, even if it is truncated in the meantime. */
export class LogReader {
  readonly #name: string;
  readonly #file: FileHandle;
  readonly #buffer = Buffer.alloc(65_536);
  #earlierFile: FileHandle | undefined;
  #position = 0;
  #earlierPosition = 0;

  private constructor(name: string, file: FileHandle, earlier: FileHandle | undefined) {
    this.#name = name;
    this.#file = file;
    this.#earlierFile = earlier;
  }

  /** @throws the error from opening the log file */
  static async open(name: string): Promise<LogReader> {
    const file = await open(name);
    return new LogReader(name, file, await openEarlier(name));
  }

  /** The next bytes; empty at the current end. */
  async read(): Promise<Buffer> {
    if (this.#earlierFile !== undefined) {
      const { bytesRead } = await this.#earlierFile.read(this.#buffer, 0, this.#buffer.length, this.#earlierPosition);
      this.#earlierPosition += bytesRead;
      if (bytesRead > 0) return this.#buffer.subarray(0, bytesRead);
      await this.#earlierFile.close();
      this.#earlierFile = undefined;
    }
    if ((await this.#file.stat()).size < this.#position) {
      // The file was truncated: the unread part is in the file next to it, at the same position.
      this.#earlierFile = await openEarlier(this.#name);
      this.#earlierPosition = this.#position;
      this.#position = 0;
      return this.read();
    }
    const { bytesRead } = await this.#file.read(this.#buffer, 0, this.#buffer.length, this.#position);
    this.#position += bytesRead;
    return this.#buffer.subarray(0, bytesRead);
  }

  async close(): Promise<void> {
    await this.#earlierFile?.close();
    await this.#file.close();
  }
}

async function openEarlier(name: string): Promise<FileHandle | undefined> {
  try {
    return await open(earlierLog(name));
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}
