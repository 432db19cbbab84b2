/**
 * Tar archives (POSIX.1-2017, pax interchange format), as far as backups need them: files, folders and symbolic links, with names
 * of any length. What any other tar program makes of the same is read as well.
 */
import { Buffer } from 'node:buffer';
import { damaged } from './problems.ts';

const block = 512;
/** The largest size that fits its field in octal digits. */
const largestOctal = 0o77777777777;
const longestName = 100;
/** An extended header holds names and sizes; a larger one is none. */
const largestExtended = 65_536;

export type TarType = 'file' | 'folder' | 'link';

export interface TarEntry {
  /** With slashes, and none at the end. */
  name: string;
  type: TarType;
  size: number;
  /** Permission bits. */
  mode: number;
  /** Seconds since the epoch. */
  modified: number;
  /** Where a link leads. */
  target?: string;
}

const flags: Record<TarType, string> = { file: '0', link: '2', folder: '5' };

/** What comes before the content of an entry. */
export function tarHeader(entry: TarEntry): Buffer {
  const extended: string[] = [];
  if (Buffer.byteLength(entry.name) > longestName - 1) extended.push(paxRecord('path', entry.name));
  if (Buffer.byteLength(entry.target ?? '') > longestName) extended.push(paxRecord('linkpath', entry.target as string));
  if (entry.size > largestOctal) extended.push(paxRecord('size', String(entry.size)));
  const own = ustar(entry, flags[entry.type]);
  if (extended.length === 0) return own;
  const records = Buffer.from(extended.join(''));
  const head = ustar({ name: 'pax', type: 'file', size: records.length, mode: 0o600, modified: entry.modified }, 'x');
  return Buffer.concat([head, records, tarPadding(records.length), own]);
}

/** What comes after the content of an entry. */
export const tarPadding = (size: number): Buffer => Buffer.alloc((block - (size % block)) % block);

/** What comes after the last entry. */
export const tarEnd = (): Buffer => Buffer.alloc(2 * block);

function ustar({ name, type, size, mode, modified, target = '' }: TarEntry, flag: string): Buffer {
  const head = Buffer.alloc(block);
  const put = (text: string, offset: number, length: number): void => void Buffer.from(text).copy(head, offset, 0, length);
  const octal = (value: number, offset: number, length: number): void =>
    put(value.toString(8).padStart(length - 1, '0'), offset, length - 1);
  put(type === 'folder' ? `${name}/` : name, 0, longestName);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(Math.min(size, largestOctal), 124, 12);
  octal(Math.min(Math.max(0, Math.floor(modified)), largestOctal), 136, 12);
  put(' '.repeat(8), 148, 8);
  put(flag, 156, 1);
  put(target, 157, 100);
  put('ustar\u000000', 257, 8);
  octal(checksum(head), 148, 7);
  return head;
}

/** With the check's own field as spaces. */
function checksum(head: Buffer): number {
  let sum = 8 * 0x20;
  for (let index = 0; index < block; index++) if (index < 148 || index >= 156) sum += head[index] as number;
  return sum;
}

/** `29 path=...` and a line break, with its own length in front. */
function paxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + String(rest).length;
  if (rest + String(length).length !== length) length += 1;
  return `${length} ${key}=${value}\n`;
}

/** An entry with its content, which has to be read before the next entry is asked for. */
export interface ReadEntry extends TarEntry {
  content(): AsyncGenerator<Buffer>;
}

/** The entries of an archive. @throws AopsError `backup_damaged` for what is none, ends too early, or holds other kinds of entries */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<ReadEntry> {
  const bytes = new Bytes(source);
  try {
    let extended: Map<string, string> = new Map();
    for (;;) {
      const head = await bytes.take(block);
      if (head.every((byte) => byte === 0)) break;
      const { flag, ...entry } = parsedHeader(head);
      if (flag === 'x') {
        if (!(entry.size >= 0 && entry.size <= largestExtended)) throw damaged('it has a header that is too long, or has no length');
        extended = paxRecords(await bytes.take(entry.size));
        await bytes.take(tarPadding(entry.size).length);
        continue;
      }
      const type = (Object.keys(flags) as TarType[]).find((known) => flags[known] === (flag === '\0' ? '0' : flag));
      if (type === undefined) throw damaged(`it has an entry of the kind "${flag}", which no backup has`);
      const size = type === 'file' ? Number(extended.get('size') ?? entry.size) : 0;
      if (!Number.isSafeInteger(size) || size < 0) throw damaged('it has an entry without a size');
      const name = (extended.get('path') ?? entry.name).replace(/\/$/, '');
      const target = extended.get('linkpath') ?? entry.target;
      extended = new Map();
      let left = size;
      const content = async function* (): AsyncGenerator<Buffer> {
        while (left > 0) {
          const chunk = await bytes.some(left);
          left -= chunk.length;
          yield chunk;
        }
      };
      yield { name, type, size, mode: entry.mode, modified: entry.modified, ...(type === 'link' ? { target } : {}), content };
      if (left > 0) throw new Error('The content of an entry was not read.');
      await bytes.take(tarPadding(size).length);
    }
  } finally {
    await bytes.end();
  }
}

function parsedHeader(head: Buffer) {
  const text = (offset: number, length: number): string => {
    const field = head.subarray(offset, offset + length);
    const end = field.indexOf(0);
    return field.subarray(0, end < 0 ? length : end).toString('utf8');
  };
  const octal = (offset: number, length: number): number => Number.parseInt(text(offset, length).trim() || '0', 8);
  if (octal(148, 8) !== checksum(head)) throw damaged('a header in it does not fit its checksum');
  const prefix = text(257, 5) === 'ustar' ? text(345, 155) : '';
  return {
    flag: text(156, 1) || '\0',
    name: prefix === '' ? text(0, 100) : `${prefix}/${text(0, 100)}`,
    size: octal(124, 12),
    mode: octal(100, 8),
    // Other programs write dates before 1970 in base 256, which is read as no number here.
    modified: octal(136, 12) || 0,
    target: text(157, 100),
  };
}

function paxRecords(bytes: Buffer): Map<string, string> {
  const records = new Map<string, string>();
  for (let offset = 0; offset < bytes.length; ) {
    const space = bytes.indexOf(0x20, offset);
    const length = Number(bytes.subarray(offset, space).toString('latin1'));
    if (space < 0 || !Number.isSafeInteger(length) || length <= space - offset + 1 || offset + length > bytes.length)
      throw damaged('it has a header that cannot be read');
    const record = bytes.subarray(space + 1, offset + length - 1).toString('utf8');
    const equals = record.indexOf('=');
    records.set(record.slice(0, equals), record.slice(equals + 1));
    offset += length;
  }
  return records;
}

/** Bytes of a source in portions of any length. */
class Bytes {
  readonly #source: AsyncIterator<Uint8Array>;
  #held: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** At least one byte and at most so many. */
  async some(most: number): Promise<Buffer> {
    while (this.#held.length === 0) {
      const { value, done } = await this.#source.next();
      if (done) throw damaged('it ends too early');
      this.#held = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
    const chunk = this.#held.subarray(0, most);
    this.#held = this.#held.subarray(chunk.length);
    return chunk;
  }

  async take(count: number): Promise<Buffer> {
    if (this.#held.length >= count) {
      const taken = this.#held.subarray(0, count);
      this.#held = this.#held.subarray(count);
      return taken;
    }
    const parts: Buffer[] = [];
    for (let left = count; left > 0; ) {
      const part = await this.some(left);
      parts.push(part);
      left -= part.length;
    }
    return Buffer.concat(parts);
  }

  async end(): Promise<void> {
    await this.#source.return?.();
  }
}
