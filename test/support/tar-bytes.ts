/**
 * Tar archives byte by byte, exactly as aops wrote them before it used a library. They represent backups of that time, and their
 * headers can be given invalid values.
 */
import type { TarEntry, TarType } from '../../src/base/tar/tar-entry.ts';

const block = 512;
/** The largest size that fits into its field in octal digits. */
const maxOctal = 0o77777777777;

const flags: Record<TarType, string> = { file: '0', link: '2', folder: '5' };

/** What comes before the content of an entry. */
export function tarHeader(entry: TarEntry): Buffer {
  const records: string[] = [];
  if (Buffer.byteLength(entry.name) > 99) records.push(paxRecord('path', entry.name));
  if (Buffer.byteLength(entry.target ?? '') > 100) records.push(paxRecord('linkpath', entry.target as string));
  if (entry.size > maxOctal) records.push(paxRecord('size', String(entry.size)));
  const ownHeader = block512(entry, flags[entry.type]);
  return records.length === 0 ? ownHeader : Buffer.concat([extendedHeader(records.join('')), ownHeader]);
}

/** An extended header with any text, which should consist of records. */
export function extendedHeader(text: string, flag = 'x'): Buffer {
  const records = Buffer.from(text);
  const head = block512({ name: 'pax', type: 'file', size: records.length, mode: 0o600, modifiedAt: 0 }, flag);
  return Buffer.concat([head, records, tarPadding(records.length)]);
}

/** `29 path=...` and a line break, with its own length in front. */
export function paxRecord(key: string, value: string): string {
  const suffixLength = Buffer.byteLength(` ${key}=${value}\n`);
  let length = suffixLength + String(suffixLength).length;
  if (suffixLength + String(length).length !== length) length += 1;
  return `${length} ${key}=${value}\n`;
}

/** What comes after the content of an entry. */
export const tarPadding = (size: number): Buffer => Buffer.alloc((block - (size % block)) % block);

/** What comes after the last entry. */
export const tarEnd = (): Buffer => Buffer.alloc(2 * block);

/** A header with another value in one of its fields, and the checksum for it. */
export function withField(header: Buffer, offset: number, length: number, value: string | Buffer): Buffer {
  const changedHeader = Buffer.from(header);
  changedHeader.fill(0, offset, offset + length);
  Buffer.from(value).copy(changedHeader, offset, 0, length);
  changedHeader.fill(' ', 148, 156);
  const sum = changedHeader.subarray(0, block).reduce((total, byte) => total + byte, 0);
  changedHeader.write(`${sum.toString(8).padStart(6, '0')}\0`, 148);
  return changedHeader;
}

export const sizeField = [124, 12] as const;
export const typeField = [156, 1] as const;

function block512({ name, type, size, mode, modifiedAt, target = '' }: TarEntry, flag: string): Buffer {
  const head = Buffer.alloc(block);
  const writeField = (text: string, offset: number, length: number): void => void Buffer.from(text).copy(head, offset, 0, length);
  const octal = (value: number, offset: number, length: number): void =>
    writeField(value.toString(8).padStart(length - 1, '0'), offset, length - 1);
  writeField(type === 'folder' ? `${name}/` : name, 0, 100);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(Math.min(size, maxOctal), 124, 12);
  octal(Math.min(Math.max(0, Math.floor(modifiedAt)), maxOctal), 136, 12);
  writeField(target, 157, 100);
  writeField('ustar\u000000', 257, 8);
  return withField(head, ...typeField, flag);
}
