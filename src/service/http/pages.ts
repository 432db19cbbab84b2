/** Answers that are pages and files, not JSON. A page that was made for somebody never runs anything on the service's origin. */
import type { Buffer } from 'node:buffer';
import { pagePolicy } from '../artifacts/render/render.ts';
import { MediaReply } from './context.ts';
import { contentDisposition } from './range.ts';

/** For whoever looks at it in a browser all the same: no scripts, no forms, no frames, an origin of its own. */
const guarded = {
  'Content-Security-Policy': `${pagePolicy}; frame-ancestors 'none'; sandbox`,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'private, no-store',
};

export const htmlPage = (text: string): MediaReply<string> =>
  new MediaReply(text, { ...guarded, 'Content-Type': 'text/html; charset=utf-8', 'Content-Disposition': 'inline' });

export const htmlExport = (text: string, title: string): MediaReply<string> =>
  new MediaReply(text, {
    ...guarded,
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Disposition': contentDisposition(fileName(title, 'html')),
  });

export const pdfExport = (bytes: Buffer, title: string): MediaReply<unknown> =>
  new MediaReply<unknown>(bytes, {
    ...guarded,
    'Content-Type': 'application/pdf',
    'Content-Length': String(bytes.length),
    'Content-Disposition': contentDisposition(fileName(title, 'pdf')),
  });

/** A title as the name of a file: no separators, nothing that hides it, and short. */
function fileName(title: string, extension: string): string {
  const plain = title
    .replace(/[\p{Cc}\p{Cf}/\\:*?"<>|]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/^\.+/, '');
  return `${[...plain].slice(0, 80).join('').trim() || 'artifact'}.${extension}`;
}
