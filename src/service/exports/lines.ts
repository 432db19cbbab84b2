/** Files of JSON lines: written so that writing can continue after a crash, and read from any position. */
import { Buffer } from 'node:buffer';
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { LinesEntry } from './format.ts';

const chunkBytes = 262_144;
/** Bytes of lines that are handled together. */
const batchBytes = 1_048_576;

/** A position in a file, up to which it is on the disk. */
export interface Position {
  bytes: number;
  rows: number;
}

export class LineWriter {
  readonly #handle: FileHandle;
  readonly #hash: Hash;
  #bytes: number;
  #rows: number;

  private constructor(handle: FileHandle, hash: Hash, { bytes, rows }: Position) {
    this.#handle = handle;
    this.#hash = hash;
    this.#bytes = bytes;
    this.#rows = rows;
  }

  /** Opens a file to continue at a position; whatever is behind it is removed. */
  static async open(file: string, position: Position): Promise<LineWriter> {
    const handle = await open(file, position.bytes === 0 ? 'w' : 'r+', 0o600);
    try {
      await handle.truncate(position.bytes);
      const hash = createHash('sha256');
      if (position.bytes > 0) await hashFile(file, hash);
      return new LineWriter(handle, hash, position);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  get position(): Position {
    return { bytes: this.#bytes, rows: this.#rows };
  }

  /** Resolves to the number of bytes. */
  async write(lines: readonly string[]): Promise<number> {
    const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
    await writeAll(this.#handle, bytes, this.#bytes);
    this.#hash.update(bytes);
    this.#bytes += bytes.length;
    this.#rows += lines.length;
    return bytes.length;
  }

  /** Resolves when everything up to the current position is on the disk. */
  async sync(): Promise<void> {
    await this.#handle.sync();
  }

  async end(): Promise<LinesEntry> {
    if (this.#bytes > 0) await this.#handle.sync();
    return { ...this.position, sha256: this.#hash.digest('hex') };
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

async function writeAll(handle: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let offset = 0; offset < bytes.length; )
    offset += (await handle.write(bytes, offset, bytes.length - offset, position + offset)).bytesWritten;
}

/** Adds the content of a file to a hash. Resolves to its size. */
export async function hashFile(file: string, hash: Hash, signal?: AbortSignal): Promise<number> {
  let size = 0;
  for await (const chunk of createReadStream(file, { highWaterMark: chunkBytes, ...(signal && { signal }) })) {
    hash.update(chunk as Buffer);
    size += (chunk as Buffer).length;
  }
  return size;
}

/** Lines that follow each other, without their line breaks, and the position behind the last one. */
export interface LineBatch {
  lines: string[];
  end: number;
}

/** The lines of a file from a position, about 1 MiB at a time. */
export async function* lineBatches(file: string, start = 0): AsyncGenerator<LineBatch, void, undefined> {
  let remainder: Buffer[] = [];
  let lines: string[] = [];
  let end = start;
  let size = 0;
  for await (const chunk of createReadStream(file, { start, highWaterMark: chunkBytes })) {
    let from = 0;
    for (let to = (chunk as Buffer).indexOf(10); to >= 0; to = (chunk as Buffer).indexOf(10, from)) {
      const line = Buffer.concat([...remainder, (chunk as Buffer).subarray(from, to)]);
      remainder = [];
      from = to + 1;
      lines.push(line.toString());
      end += line.length + 1;
      size += line.length + 1;
    }
    if (from < (chunk as Buffer).length) remainder.push((chunk as Buffer).subarray(from));
    if (size < batchBytes) continue;
    yield { lines, end };
    lines = [];
    size = 0;
  }
  if (lines.length > 0) yield { lines, end };
}
