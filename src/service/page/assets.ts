/** The files of the team page, as browsers get them. They are few and small, so they are read once and stored with their hashes. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Answer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { isNotModified } from '../http/range.ts';

/** The files are next to this one, and next to the bundle that contains it. */
const folder = path.join(path.dirname(fileURLToPath(import.meta.url)), 'team-page');

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/**
 * Only the page's own files can run or style it, it connects only to this service, and no other page can frame it. Trusted Types
 * block every conversion of text to HTML or a script, in case the code ever contains one.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const headers: Readonly<Record<string, string>> = {
  'Content-Security-Policy': policy,
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
  // Requested each time and answered with 304, so a page does not mix files of two versions for longer than one load.
  'Cache-Control': 'no-cache',
};

interface Asset {
  readonly type: string;
  readonly etag: string;
  readonly text: string;
}

let cache: ReadonlyMap<string, Asset> | undefined;

const assets = (): ReadonlyMap<string, Asset> => {
  cache ??= new Map(
    readdirSync(folder)
      .filter((name) => Object.hasOwn(types, path.extname(name)))
      .map((name) => {
        const text = readFileSync(path.join(folder, name), 'utf8');
        const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 27)}"`;
        return [name, { type: types[path.extname(name)] as string, etag, text }];
      }),
  );
  return cache;
};

/** The response with a file of the page: `index.html` at `/`, all others below `/page`. Undefined if the file does not exist. */
export function assetAnswer({ request }: Exchange, name: string): Answer | undefined {
  const asset = assets().get(name);
  if (asset === undefined) return undefined;
  const allHeaders = { ...headers, ETag: asset.etag };
  if (isNotModified(request.headers, asset.etag)) return { status: 304, headers: allHeaders, body: '' };
  return { status: 200, headers: { ...allHeaders, 'Content-Type': asset.type }, body: asset.text };
}
