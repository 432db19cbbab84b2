/** A file received with a request: in memory if it is small, otherwise on the disk, so that many uploads at once need little memory. */
import { Buffer } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';

/** Maximum size of a file in memory, in bytes. */
const memoryLimit = 256 * 1024;
const pieceLength = 64 * 1024;

export class ReceivedFile implements AsyncIterable<Uint8Array> {
  /** Bytes. */
  length = 0;
  #pieces: Buffer[] = [];
  #disk: FileHandle | undefined;
  readonly #openDisk: () => Promise<FileHandle>;

  /** @param openDisk opens an empty file that is deleted when it is closed */
  constructor(openDisk: () => Promise<FileHandle>) {
    this.#openDisk = openDisk;
  }

  /** The next bytes, which must not change afterwards. */
  async add(bytes: Buffer): Promise<void> {
    this.length += bytes.length;
    if (this.length <= memoryLimit) {
      this.#pieces.push(bytes);
      return;
    }
    this.#disk ??= await this.#openDisk();
    for (const piece of [...this.#pieces.splice(0), bytes]) await this.#disk.writeFile(piece);
  }

  /** The bytes of the file. The parser of an archive keeps chunks after it has requested more, so each one has memory of its own. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    yield* this.#pieces;
    if (this.#disk === undefined) return;
    for (let position = 0; position < this.length; ) {
      const buffer = Buffer.allocUnsafe(Math.min(pieceLength, this.length - position));
      const { bytesRead } = await this.#disk.read(buffer, 0, buffer.length, position);
      if (bytesRead === 0) throw new Error('A file that was received has become shorter.');
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  async close(): Promise<void> {
    this.#pieces = [];
    await this.#disk?.close();
  }
}
