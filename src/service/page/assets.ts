/** The files of the team page, as browsers get them. They are few and small, so they are read once and stored with their hashes. */
import type { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Answer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { isNotModified } from '../http/range.ts';
import { iconPng } from './icon-png.ts';

/** The files are next to this one, and next to the bundle that contains it. */
const folder = path.join(path.dirname(fileURLToPath(import.meta.url)), 'team-page');

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
};

/** Icons that are drawn when they are first requested. iOS cuts its own shape from the one of 180 pixels. */
const drawnIcons: ReadonlyMap<string, () => Buffer> = new Map([
  ['icon-180.png', () => iconPng(180, true)],
  ['icon-192.png', () => iconPng(192, false)],
  ['icon-512.png', () => iconPng(512, false)],
]);

const workerName = 'worker.js';

/**
 * Only the page's own files can run or style it, it connects only to this service, and no other page can frame it. Trusted Types
 * block every conversion of text to HTML or a script, in case the code ever contains one; the single policy names the service worker.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types aops-worker',
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
  readonly content: string | Buffer;
}

let cache: ReadonlyMap<string, Asset> | undefined;

const assets = (): ReadonlyMap<string, Asset> => {
  cache ??= readAssets();
  return cache;
};

function readAssets(): ReadonlyMap<string, Asset> {
  const names = readdirSync(folder).filter((name) => Object.hasOwn(types, path.extname(name)));
  const texts = new Map(names.map((name) => [name, readFileSync(path.join(folder, name), 'utf8')]));
  texts.set(workerName, startedWorker(texts));
  return new Map([...texts].map(([name, text]) => [name, assetOf(types[path.extname(name)] as string, text)]));
}

const assetOf = (type: string, content: string | Buffer): Asset => ({ type, etag: `"${digest(content)}"`, content });

const digest = (content: string | Buffer): string => createHash('sha256').update(content).digest('base64url').slice(0, 27);

/** The service worker with the call that starts it: its text, and so the worker of each browser, changes with every file. */
function startedWorker(texts: ReadonlyMap<string, string>): string {
  const names = [...texts.keys()].filter((name) => name !== workerName);
  const files = names.map((name) => (name === 'index.html' ? '/' : `/page/${name}`));
  const version = digest(JSON.stringify([...texts]));
  return `${texts.get(workerName)}\nstartWorker(${JSON.stringify({ version, files })});\n`;
}

const icons = new Map<string, Asset>();

function iconAsset(name: string): Asset | undefined {
  const draw = drawnIcons.get(name);
  if (draw !== undefined && !icons.has(name)) icons.set(name, assetOf('image/png', draw()));
  return icons.get(name);
}

/** The response with a file of the page: `index.html` at `/`, all others below `/page`. Undefined if the file does not exist. */
export function assetAnswer({ request }: Exchange, name: string): Answer | undefined {
  const asset = assets().get(name) ?? iconAsset(name);
  if (asset === undefined) return undefined;
  const allHeaders = { ...headers, ETag: asset.etag, ...(name === workerName ? { 'Service-Worker-Allowed': '/' } : {}) };
  if (isNotModified(request.headers, asset.etag)) return { status: 304, headers: allHeaders, body: '' };
  const { type, content } = asset;
  if (typeof content === 'string') return { status: 200, headers: { ...allHeaders, 'Content-Type': type }, body: content };
  const lengthHeaders = { 'Content-Type': type, 'Content-Length': String(content.length) };
  return { status: 200, headers: { ...allHeaders, ...lengthHeaders }, body: Readable.from([content]) };
}
