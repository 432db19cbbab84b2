/** Answers that are pages and files rather than JSON. A generated page never runs anything on the service's origin. */
import type { Buffer } from 'node:buffer';
import { pagePolicy } from '../artifacts/render/render.ts';
import { MediaReply } from './context.ts';
import { contentDisposition } from './range.ts';

/** In case it is opened in a browser: no scripts, no forms, no frames, and an origin of its own. */
const guardHeaders = {
  'Content-Security-Policy': `${pagePolicy}; frame-ancestors 'none'; sandbox`,
  'Referrer-Policy': 'no-referrer',
};

export const htmlPage = (text: string): MediaReply<string> =>
  new MediaReply(text, { ...guardHeaders, 'Content-Type': 'text/html; charset=utf-8', 'Content-Disposition': 'inline' });

export const htmlExport = (text: string, title: string): MediaReply<string> =>
  new MediaReply(text, {
    ...guardHeaders,
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Disposition': contentDisposition(fileName(title, 'html')),
  });

export const pdfExport = (bytes: Buffer, title: string): MediaReply<unknown> =>
  new MediaReply<unknown>(bytes, {
    ...guardHeaders,
    'Content-Type': 'application/pdf',
    'Content-Length': String(bytes.length),
    'Content-Disposition': contentDisposition(fileName(title, 'pdf')),
  });

/** A title as a file name: short, without separators, and not hidden. */
function fileName(title: string, extension: string): string {
  const fileTitle = title
    .replace(/[\p{Cc}\p{Cf}/\\:*?"<>|]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .replace(/^[. ]+/, '');
  return `${[...fileTitle].slice(0, 80).join('').trim() || 'artifact'}.${extension}`;
}
