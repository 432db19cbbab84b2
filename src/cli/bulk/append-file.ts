/** A file of JSON lines that only grows. A line is on the disk when `append` resolves; lines that are appended at the same time share one write. */
import { open } from 'node:fs/promises';
import path from 'node:path';
import { syncFolder } from '../../base/sync-folder.ts';

export class AppendFile {
  readonly file: string;
  /** Precedes the next line: the first line of a new file, or the end of a line that was cut off. */
  #prefix: string;
  #lines: string[] = [];
  #lastWrite: Promise<void> = Promise.resolve();
  #nextWrite: Promise<void> | undefined;

  constructor(file: string, prefix: string) {
    this.file = file;
    this.#prefix = prefix;
  }

  /** @throws the error of the file system; the line might then be cut off, but it does not damage later ones */
  append(line: object): Promise<void> {
    this.#lines.push(`${JSON.stringify(line)}\n`);
    this.#nextWrite ??= this.#writeAfter(this.#lastWrite);
    return this.#nextWrite;
  }

  async #writeAfter(previousWrite: Promise<void>): Promise<void> {
    await previousWrite.catch(() => undefined);
    const text = this.#prefix + this.#lines.join('');
    this.#lines = [];
    // It is this write: `append` has set it before anything was awaited.
    this.#lastWrite = this.#nextWrite as Promise<void>;
    this.#nextWrite = undefined;
    try {
      await appendDurably(this.file, text);
      this.#prefix = '';
    } catch (error) {
      if (!this.#prefix.startsWith('\n')) this.#prefix = `\n${this.#prefix}`;
      throw error;
    }
  }
}

async function appendDurably(file: string, text: string): Promise<void> {
  const handle = await open(file, 'a', 0o600);
  try {
    const isNew = (await handle.stat()).size === 0;
    await handle.appendFile(text);
    await handle.datasync();
    if (isNew) await syncFolder(path.dirname(file));
  } finally {
    await handle.close();
  }
}
