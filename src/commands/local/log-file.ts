/**
 * The log file of `aops local up`, kept within a size. What is in it is copied to a file beside it, and the file itself is emptied:
 * whoever has it open to append, as the service has it as its standard error, goes on in the same file. A crash in between leaves
 * some lines in both files, and loses none.
 */
import { copyFileSync, fstatSync, renameSync, statSync, truncateSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { open } from 'node:fs/promises';
import { ignoreErrors } from '../../base/ignore-errors.ts';
import { isAbsent } from '../../base/read-failure.ts';

/** Bytes of the file before it is emptied; the file beside it has as many at most. */
export const logFileLimit = 10 * 1024 * 1024;

/** The file beside it, with what was logged before. */
export const earlierLog = (file: string): string => `${file}.1`;

/**
 * Keeps a log file within its size whenever the returned function is called. Undefined when the standard error of this process is not
 * that file: then whoever started it sees to its log.
 */
export function boundedLog(file: string, limit = logFileLimit): (() => void) | undefined {
  let isOwn = false;
  ignoreErrors(() => {
    isOwn = isSame(fstatSync(2), statSync(file));
  });
  return isOwn ? () => keepWithin(file, limit) : undefined;
}

const isSame = (one: { dev: number; ino: number }, other: { dev: number; ino: number }): boolean =>
  one.dev === other.dev && one.ino === other.ino;

/** Empties a log file that is larger than the limit, in bytes. A disk that is full keeps the log as it is. */
export function keepWithin(file: string, limit: number): void {
  ignoreErrors(() => {
    if (statSync(file).size <= limit) return;
    copyFileSync(file, `${earlierLog(file)}.new`);
    renameSync(`${earlierLog(file)}.new`, earlierLog(file));
    truncateSync(file, 0);
  });
}

/** Reads a log from its earlier part to its end, and then what is added, also when it is emptied meanwhile. */
export class LogReader {
  readonly #name: string;
  readonly #file: FileHandle;
  readonly #buffer = Buffer.alloc(65_536);
  #earlier: FileHandle | undefined;
  #position = 0;
  #earlierPosition = 0;

  private constructor(name: string, file: FileHandle, earlier: FileHandle | undefined) {
    this.#name = name;
    this.#file = file;
    this.#earlier = earlier;
  }

  /** @throws what opening the log file throws */
  static async open(name: string): Promise<LogReader> {
    const file = await open(name);
    return new LogReader(name, file, await openEarlier(name));
  }

  /** What comes next; empty at the end of what is there now. */
  async read(): Promise<Buffer> {
    if (this.#earlier !== undefined) {
      const { bytesRead } = await this.#earlier.read(this.#buffer, 0, this.#buffer.length, this.#earlierPosition);
      this.#earlierPosition += bytesRead;
      if (bytesRead > 0) return this.#buffer.subarray(0, bytesRead);
      await this.#earlier.close();
      this.#earlier = undefined;
    }
    if ((await this.#file.stat()).size < this.#position) {
      // Emptied: what was not read of it is in the file beside it, at the same place.
      this.#earlier = await openEarlier(this.#name);
      this.#earlierPosition = this.#position;
      this.#position = 0;
      return this.read();
    }
    const { bytesRead } = await this.#file.read(this.#buffer, 0, this.#buffer.length, this.#position);
    this.#position += bytesRead;
    return this.#buffer.subarray(0, bytesRead);
  }

  async close(): Promise<void> {
    await this.#earlier?.close();
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
