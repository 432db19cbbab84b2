/** The browser that tests use, if this machine has one, and a small site to visit. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import process from 'node:process';
import { isProgram } from '../../src/base/program.ts';
import { browserNames, findChromium } from '../../src/service/browser/chromium.ts';
import { describeNeeding, type Missing } from './requirements.ts';
import { whenDone } from './temporary.ts';

/** Path of an installed Chromium, if any. */
export const chromium = await findChromium({
  policy: 'on',
  searchPath: process.env.PATH ?? '',
  ...(process.env.AOPS_CHROMIUM ? { executable: process.env.AOPS_CHROMIUM } : {}),
}).catch(() => undefined);

/**
 * A browser that can also show windows, which most users have: it starts more processes than the one without windows, and takes twice
 * the CPU time. Use it where that matters, and to test that it works.
 */
export const windowedChromium = (await windowedBrowser()) ?? chromium;

async function windowedBrowser(): Promise<string | undefined> {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  const names = browserNames.filter((name) => name !== 'chromium-headless-shell');
  for (const file of names.flatMap((name) => folders.map((folder) => path.join(folder, name)))) if (await isProgram(file)) return file;
  return undefined;
}

export const needsChromium: Missing = chromium === undefined ? 'Chromium is not installed' : undefined;

/** Tests that need a browser. */
export const describeWithChromium = (name: string, tests: () => void): void => describeNeeding(needsChromium, name, tests);

export interface Site {
  url: string;
  /** Method, path and cookie of all requests except those for the icon. */
  requests: string[];
}

type Page = (request: IncomingMessage, response: ServerResponse) => string | undefined;

/** Serves HTML by path on a free port until the tests of the file are done. Other paths get a 404. */
export async function startSite(pages: Record<string, string | Page>): Promise<Site> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site');
    if (pathname === '/favicon.ico') return void response.writeHead(204).end();
    requests.push(`${request.method} ${request.url}${request.headers.cookie === undefined ? '' : ` ${request.headers.cookie}`}`);
    const page = pages[pathname];
    if (page === undefined) return void response.writeHead(404, { 'content-type': 'text/html' }).end('<title>Nothing</title>Nothing here');
    response.setHeader('content-type', 'text/html; charset=utf-8');
    const text = typeof page === 'string' ? page : page(request, response);
    if (text !== undefined) response.end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenDone(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}
