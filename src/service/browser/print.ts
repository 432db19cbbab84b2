/** Prints a page as PDF with a Chromium on this machine: without network and scripts, and with a temporary profile. */
import type { Buffer } from 'node:buffer';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { orAborted } from '../../base/abort.ts';
import { ServiceError } from '../errors.ts';
import { type BrowserOptions, findChromium } from './chromium.ts';
import { endChromium, launchChromium } from './launch.ts';

/** The time limit for printing, in milliseconds. */
const printTime = 30_000;

/** Browsers need a lot of memory, so only one prints at a time. */
let last: Promise<unknown> = Promise.resolve();

/**
 * The PDF of an HTML page, on A4. Throws ServiceError 409 `pdf_unavailable`, which explains what to do.
 * @param signal aborted when the client has left, so that the next page can be printed
 */
export async function printPdf(browsing: BrowserOptions, html: string, signal: AbortSignal): Promise<Buffer> {
  const executable = await findChromium(browsing).catch((error: unknown) => {
    throw error instanceof ServiceError ? unavailable(error.message) : error;
  });
  const pdf = last.then(() => print({ executable, searchPath: browsing.searchPath, html, signal }));
  last = pdf.catch(() => undefined);
  return orAborted(pdf, signal).catch((error: unknown) => {
    throw signal.aborted ? unavailable('the client is no longer waiting for this one.') : error;
  });
}

async function print(options: { executable: string; searchPath: string; html: string; signal: AbortSignal }): Promise<Buffer> {
  const { executable, searchPath, html, signal } = options;
  signal.throwIfAborted();
  const profile = await mkdtemp(path.join(tmpdir(), 'aops-print-'));
  try {
    const browser = await launchChromium({ executable, searchPath, profile, javaScriptEnabled: false, offline: true }).catch(
      (error: unknown) => {
        throw error instanceof ServiceError ? unavailable(error.message) : error;
      },
    );
    const { context, keeper } = browser;
    const kill = (): void => void (keeper === undefined ? context.close().catch(() => undefined) : keeper.signal('KILL'));
    const timer = setTimeout(kill, printTime);
    signal.addEventListener('abort', kill, { once: true });
    try {
      if (signal.aborted) kill();
      const page = context.pages()[0] ?? (await context.newPage());
      await page.setContent(html, { timeout: printTime, waitUntil: 'load' });
      return await page.pdf({ format: 'A4', printBackground: true, preferCSSPageSize: true, tagged: true, outline: true });
    } catch (error) {
      throw new ServiceError(
        500,
        'pdf_failed',
        `The browser could not print the page: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`,
      );
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', kill);
      await endChromium(browser, kill);
    }
  } finally {
    await rm(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }).catch(() => undefined);
  }
}

const unavailable = (reason: string): ServiceError =>
  new ServiceError(
    409,
    'pdf_unavailable',
    `PDF files are printed by a browser on the machine of the service: ${reason} The HTML export does not need one.`,
  );
