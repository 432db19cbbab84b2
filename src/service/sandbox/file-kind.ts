/** The kind of a file, determined from its name and its first bytes. */
import path from 'node:path';
import { wholeCharacters } from './utf8.ts';

/** The number of bytes that decide whether a file is text. */
export const sniffLength = 64 * 1024;

const mimeTypes: Record<string, string> = {
  avif: 'image/avif',
  bmp: 'image/bmp',
  css: 'text/css',
  csv: 'text/csv',
  doc: 'application/msword',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  eml: 'message/rfc822',
  gif: 'image/gif',
  gz: 'application/gzip',
  htm: 'text/html',
  html: 'text/html',
  ico: 'image/x-icon',
  ics: 'text/calendar',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  js: 'text/javascript',
  json: 'application/json',
  jsonl: 'application/x-ndjson',
  log: 'text/plain',
  md: 'text/markdown',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  ndjson: 'application/x-ndjson',
  pdf: 'application/pdf',
  png: 'image/png',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  py: 'text/x-python',
  sh: 'application/x-sh',
  svg: 'image/svg+xml',
  tar: 'application/x-tar',
  tif: 'image/tiff',
  tiff: 'image/tiff',
  ts: 'text/x-typescript',
  tsv: 'text/tab-separated-values',
  txt: 'text/plain',
  wav: 'audio/wav',
  webp: 'image/webp',
  xls: 'application/vnd.ms-excel',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  zip: 'application/zip',
};

/** The media type of a file name's extension, or null. */
export function mimeTypeOf(name: string): string | null {
  const extension = path.extname(name).slice(1).toLowerCase();
  return Object.hasOwn(mimeTypes, extension) ? (mimeTypes[extension] as string) : null;
}

/** Whether the first bytes of a file are text: valid UTF-8 without NUL. `isTruncated` means that the file is longer. */
export function isText(bytes: Uint8Array, isTruncated: boolean): boolean {
  if (bytes.includes(0)) return false;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(isTruncated ? bytes.subarray(0, wholeCharacters(bytes)) : bytes);
    return true;
  } catch {
    return false;
  }
}

/** The media type of an image, determined from its first bytes: PNG, JPEG, or WebP; otherwise null. */
export function imageTypeOf(bytes: Uint8Array): string | null {
  const head = Buffer.from(bytes.subarray(0, 12)).toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (head.startsWith('RIFF') && head.slice(8) === 'WEBP') return 'image/webp';
  return null;
}
