/** The conditional and range headers of downloads (RFC 9110 sections 13 and 14). Pure. */
import { Buffer } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import type { ByteRange } from '../files/stored-file.ts';

/** The requested part; undefined for the whole file, also when several parts are requested or the file has changed. */
export function requestedRange(
  headers: IncomingHttpHeaders,
  file: { size: number; etag: string },
): ByteRange | undefined | 'unsatisfiable' {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  const ifRange = headers['if-range'];
  if (ifRange !== undefined && ifRange !== file.etag) return undefined;
  const start = first === '' ? Math.max(0, file.size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? file.size - 1 : Math.min(Number(last), file.size - 1);
  if (last !== '' && Number(first) > Number(last)) return undefined;
  return start > end ? 'unsatisfiable' : { start, end };
}

/** Whether the caller already has the current file. */
export function isNotModified(headers: IncomingHttpHeaders, etag: string): boolean {
  const tags = headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags?.some((tag) => tag === etag || tag === '*') ?? false;
}

/** A header that makes browsers save the file under its name, both reduced to ASCII and in full (RFC 6266). */
export function contentDisposition(name: string): string {
  const asciiName = name.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  // Converted to bytes and back, because half a surrogate pair cannot be encoded.
  const encodedName = encodeURIComponent(Buffer.from(name).toString()).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${asciiName}"; filename*=UTF-8''${encodedName}`;
}
