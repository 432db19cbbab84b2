/**
 * Reads the files of a tar archive as they arrive. It accepts only what an archive of plain files contains, and rejects everything
 * that two programs could understand differently: links, devices, extensions of one program, and headers that are damaged.
 */
import { Buffer, isUtf8 } from 'node:buffer';
import { blockBytes, headerSum, paddingAfter, sumKeyword, type TarFile } from './heads.ts';

/** An extended header contains a path and a checksum. */
const maxExtendedBytes = 16_384;

/** Bytes that are read after the end of an archive. */
const maxTrailingBytes = 1_048_576;

/** The archive is not valid. The message is a part of a sentence: "it ends too early". */
export class InvalidArchiveError extends Error {}

export interface ReadFile extends TarFile {
  /** The content, which can be read until the next file is requested; otherwise it is skipped. */
  content: AsyncIterable<Uint8Array>;
}

/** The files of an archive, in its order. Folders are skipped. @throws InvalidArchiveError, and whatever the source throws */
export async function* readTarFiles(source: AsyncIterable<Uint8Array>): AsyncGenerator<ReadFile, void, undefined> {
  const input = new Input(source);
  try {
    let extended: Extended | undefined;
    for (let block = await input.take(blockBytes); !isEmpty(block); block = await input.take(blockBytes)) {
      const { type, name, size } = parseHeader(block);
      if (type === 'x') {
        if (size > maxExtendedBytes) throw new InvalidArchiveError('it contains a header that is too long');
        if (extended !== undefined) throw new InvalidArchiveError('it contains two headers for one file');
        extended = parseRecords(await input.take(size));
        await input.skip(paddingAfter(size));
        continue;
      }
      const path = extended?.path ?? name;
      if (type === 'file') {
        const content = input.next(size);
        yield { path, size, sha256: extended?.sum, content };
        await input.skipRest();
        await input.skip(paddingAfter(size));
      }
      extended = undefined;
    }
    await input.drain();
  } finally {
    await input.close();
  }
}

/** Collects the parts of a stream into the pieces that an archive consists of. */
class Input {
  readonly #iterator: AsyncIterator<Uint8Array>;
  #chunk: Buffer = Buffer.alloc(0);
  /** Bytes of the current content that have not been read. */
  #remaining = 0;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#iterator = source[Symbol.asyncIterator]();
  }

  /** Exactly this many bytes. */
  async take(length: number): Promise<Buffer> {
    if (this.#chunk.length >= length) return this.#split(length);
    const parts: Buffer[] = [];
    for (let missing = length; missing > 0; ) {
      if (this.#chunk.length === 0) await this.#read();
      const part = this.#split(missing);
      parts.push(part);
      missing -= part.length;
    }
    return Buffer.concat(parts, length);
  }

  async skip(length: number): Promise<void> {
    for (let missing = length; missing > 0; ) {
      if (this.#chunk.length === 0) await this.#read();
      missing -= this.#split(missing).length;
    }
  }

  /** The content of a file. */
  next(size: number): AsyncIterable<Uint8Array> {
    this.#remaining = size;
    return { [Symbol.asyncIterator]: () => this.#content() };
  }

  async skipRest(): Promise<void> {
    await this.skip(this.#remaining);
    this.#remaining = 0;
  }

  /** Reads the padding after the end, so that the source can end in order: the connection of a download can then be used again. */
  async drain(): Promise<void> {
    for (let length = 0; length < maxTrailingBytes; ) {
      const { value, done } = await this.#iterator.next();
      if (done) return;
      length += value.length;
    }
  }

  async close(): Promise<void> {
    await this.#iterator.return?.();
  }

  async *#content(): AsyncGenerator<Buffer, void, undefined> {
    while (this.#remaining > 0) {
      if (this.#chunk.length === 0) await this.#read();
      const part = this.#split(this.#remaining);
      this.#remaining -= part.length;
      yield part;
    }
  }

  /** At most this many bytes of the current chunk. */
  #split(length: number): Buffer {
    const part = this.#chunk.subarray(0, length);
    this.#chunk = this.#chunk.subarray(part.length);
    return part;
  }

  async #read(): Promise<void> {
    const { value, done } = await this.#iterator.next();
    if (done) throw new InvalidArchiveError('it ends too early');
    this.#chunk = Buffer.from(value.buffer, value.byteOffset, value.length);
  }
}

const isEmpty = (block: Uint8Array): boolean => block.every((byte) => byte === 0);

interface Extended {
  path?: string;
  sum?: string;
}

const types: Readonly<Record<string, 'file' | 'folder' | 'x'>> = { '0': 'file', '\0': 'file', '5': 'folder', x: 'x' };

function parseHeader(block: Buffer): { type: 'file' | 'folder' | 'x'; name: string; size: number } {
  if (octalField(block, 148, 8) !== headerSum(block)) throw new InvalidArchiveError('a header in it is damaged');
  // In the format that GNU tar uses by default, the bytes of the prefix have another meaning.
  if (block.toString('latin1', 257, 263) !== 'ustar\0')
    throw new InvalidArchiveError('it is not in the format of POSIX (`tar --format posix`)');
  const letter = block.toString('latin1', 156, 157);
  const type = Object.hasOwn(types, letter) ? types[letter] : undefined;
  if (type === undefined) throw new InvalidArchiveError(`it contains an entry of type ${JSON.stringify(letter)}, which is not a file`);
  const size = octalField(block, 124, 12);
  if (size === undefined || (type === 'folder' && size > 0)) throw new InvalidArchiveError('it contains an entry without a valid size');
  const prefix = textField(block, 345, 155);
  const name = textField(block, 0, 100);
  return { type, name: prefix === '' ? name : `${prefix}/${name}`, size };
}

/** A number in octal digits, which end with a space or NUL; undefined for anything else. */
function octalField(block: Buffer, offset: number, length: number): number | undefined {
  const [, digits] = /^ *([0-7]+)[ \0]*$/.exec(block.toString('latin1', offset, offset + length)) ?? [];
  return digits === undefined ? undefined : Number.parseInt(digits, 8);
}

function textField(block: Buffer, offset: number, length: number): string {
  const bytes = block.subarray(offset, offset + length);
  const end = bytes.indexOf(0);
  return decode(end < 0 ? bytes : bytes.subarray(0, end));
}

/** The records of an extended header: `29 path=...` and a line break, each with its own length in front. */
function parseRecords(bytes: Buffer): Extended {
  const extended: Extended = {};
  for (let offset = 0; offset < bytes.length; ) {
    const [, length] = /^([1-9]\d{0,4}) /.exec(bytes.toString('latin1', offset, offset + 6)) ?? [];
    const end = offset + Number(length);
    const equals = bytes.indexOf('=', offset);
    // If a record ends beyond the header or has no length, this byte is undefined.
    if (bytes[end - 1] !== 0x0a || equals < 0 || equals >= end) throw new InvalidArchiveError('a header in it cannot be read');
    const keyword = bytes.toString('latin1', offset + String(length).length + 1, equals);
    const value = bytes.subarray(equals + 1, end - 1);
    if (keyword === 'path') extended.path = decode(value);
    else if (keyword === sumKeyword) extended.sum = decode(value);
    // Another size or a link would change what the entry is.
    else if (keyword === 'size' || keyword === 'linkpath') throw new InvalidArchiveError(`it contains a header with "${keyword}"`);
    offset = end;
  }
  return extended;
}

function decode(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new InvalidArchiveError('it contains a name that is not UTF-8');
  return bytes.toString();
}
