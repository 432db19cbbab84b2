/**
 * Writes the heads of files in a tar archive (POSIX.1-2017, pax interchange format). The bytes depend only on the arguments, so that a
 * request that is sent again is the same request.
 */
import { Buffer } from 'node:buffer';

/** Everything in an archive is padded to a multiple of this many bytes. */
export const blockBytes = 512;

/** The keyword under which an extended header contains the SHA-256 of a file, in hex. POSIX reserves names in capitals for vendors. */
export const sumKeyword = 'AOPS.sha256';

export interface TarFile {
  /** With slashes between its parts. */
  path: string;
  /** Bytes. */
  size: number;
  /** SHA-256 of the content in hex. */
  sha256?: string | undefined;
}

/** Two empty blocks end an archive. */
export const tarEnd: Uint8Array = Buffer.alloc(2 * blockBytes);

/** The number of bytes that follow `size` bytes of content. */
export const paddingAfter = (size: number): number => (blockBytes - (size % blockBytes)) % blockBytes;

/** What precedes the content of a file: its header, after an extended header if it needs one. */
export function fileHead(file: TarFile): Buffer {
  const head = Buffer.alloc(headLength(file));
  writeHead(head, file);
  return head;
}

/** The length of the head of a file, in bytes. Every checksum has the same length. */
export function headLength({ path, sha256 }: Pick<TarFile, 'path' | 'sha256'>): number {
  const length = Buffer.byteLength(records(path, sha256));
  return length === 0 ? blockBytes : 2 * blockBytes + length + paddingAfter(length);
}

/** Writes the head of a file to the beginning of empty bytes. */
export function writeHead(bytes: Buffer, { path, size, sha256 }: TarFile): void {
  const text = records(path, sha256);
  const length = Buffer.byteLength(text);
  const offset = length === 0 ? 0 : blockBytes + length + paddingAfter(length);
  if (offset > 0) {
    writeHeader(bytes.subarray(0, blockBytes), { name: 'pax', size: length, type: 'x' });
    bytes.write(text, blockBytes);
  }
  writeHeader(bytes.subarray(offset, offset + blockBytes), { name: isPlain(path) ? path : 'file', size, type: '0' });
}

/** Whether a header can contain a path without an extended one. */
const isPlain = (path: string): boolean => path.length <= maxPlainName && /^[\x20-\x7e]+$/.test(path);

const records = (path: string, sha256: string | undefined): string =>
  `${isPlain(path) ? '' : record('path', path)}${sha256 === undefined ? '' : record(sumKeyword, sha256)}`;

const maxPlainName = 100;

/** A record with its own length in front, which includes the digits of the length. */
function record(keyword: string, value: string): string {
  const rest = ` ${keyword}=${value}\n`;
  const restBytes = Buffer.byteLength(rest);
  let length = restBytes + 1;
  while (String(length).length + restBytes !== length) length = String(length).length + restBytes;
  return `${length}${rest}`;
}

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');

/** The fields of a header, at their offsets; the rest is empty. */
function writeHeader(block: Buffer, { name, size, type }: { name: string; size: number; type: '0' | 'x' }): void {
  block.write(name, 0, 'latin1');
  // Mode, owner, group, size, and time; the checksum counts as spaces while it is computed.
  block.write(`0000644\0${'0000000\0'.repeat(2)}${octal(size, 11)}\0${'0'.repeat(11)}\0${' '.repeat(8)}${type}`, 100, 'latin1');
  block.write('ustar\u000000', 257, 'latin1');
  block.write(`${octal(headerSum(block), 6)}\0 `, 148, 'latin1');
}

/** The sum of the bytes of a header, its checksum counted as spaces. */
export function headerSum(block: Uint8Array): number {
  let sum = 0;
  for (let index = 0; index < blockBytes; index += 1) sum += index >= 148 && index < 156 ? 0x20 : (block[index] as number);
  return sum;
}
