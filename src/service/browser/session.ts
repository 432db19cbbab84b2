/**
 * The browser of one run: one Chromium process with one context. It starts when a step first needs it and ends when the run is no
 * longer executed. Its cookies, local storage, and current page are stored next to the run's files, so that a later session can continue.
 */

import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BrowserContext, Download, Response } from 'playwright-core';
import { steadyTime, systemClock } from '../../base/clock.ts';
import { formatDuration } from '../../base/duration.ts';
import { ServiceError } from '../errors.ts';
import { withinTime } from '../outbound/within-time.ts';
import type { Keeper } from '../sandbox/keeper.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { type BrowserOptions, findChromium } from './chromium.ts';
import { endChromium, launchChromium, startTime } from './launch.ts';
import { Pages, type Viewport } from './pages.ts';
import { browseFailed, isInterrupted } from './problems.ts';

export interface SessionOptions {
  browsing: BrowserOptions;
  sandbox: Sandbox;
  signal: AbortSignal;
}

export const defaultViewport: Viewport = { width: 1280, height: 800 };

/** The time limit for a picture, in milliseconds. */
const pictureTime = 5_000;
/** The time limit for reading the title and the storage of a page, in milliseconds. */
const stateTimeout = 5_000;
/** How long a page that did not respond earlier may take to respond, in milliseconds. */
const responseTime = 1_000;
/** The interval between checks of a download, in milliseconds. */
const downloadPoll = 100;
/** The URL of a new page. */
export const blankUrl = 'about:blank';
/** The state that a later session of the run needs. */
interface SessionState {
  url: string;
  storage: Awaited<ReturnType<BrowserContext['storageState']>>;
}

export class BrowserSession {
  readonly pages: Pages;
  readonly #context: BrowserContext;
  readonly #keeper: Keeper | undefined;
  readonly #folders: Folders;
  readonly #signal: AbortSignal;
  readonly #refusedHosts: ReadonlySet<string>;
  readonly #endProxy: () => Promise<void>;
  #closePromise: Promise<void> | undefined;
  #isOver = false;
  /** Whether the latest picture of the page failed; then its title and its storage are not read either, because it does not respond. */
  #isUnresponsive = false;
  #viewport = defaultViewport;
  /** The page of an earlier session of the run. */
  #restoredUrl = '';
  /** The digest of the latest picture, and the event that it belongs to. */
  lastPicture: { digest: string; eventId: string } | undefined;

  private constructor(parts: Parts, signal: AbortSignal) {
    this.#context = parts.context;
    this.#keeper = parts.keeper;
    this.#folders = parts.folders;
    this.#refusedHosts = parts.proxy?.refusedHosts ?? new Set();
    this.#endProxy = parts.proxy?.close ?? (async () => undefined);
    this.#signal = signal;
    this.pages = new Pages(parts.context);
    parts.context.on('close', () => {
      this.#isOver = true;
    });
    signal.addEventListener('abort', this.#kill, { once: true });
    // If the run was aborted while the browser was starting, no event follows.
    if (signal.aborted) this.#kill();
  }

  /** Starts a browser for a run. Throws ServiceError 400 `no_browser` or `browse_failed`, or the signal's reason. */
  static async open({ browsing, sandbox, signal }: SessionOptions): Promise<BrowserSession> {
    const executable = await findChromium(browsing);
    const parts = await start(executable, browsing, sandbox);
    const session = new BrowserSession(parts, signal);
    try {
      await session.#restore();
      signal.throwIfAborted();
      return session;
    } catch (error) {
      await session.close();
      signal.throwIfAborted();
      throw error;
    }
  }

  /** Whether the browser has ended, for whatever reason. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Hosts that were refused because they are not public. */
  get refusedHosts(): ReadonlySet<string> {
    return this.#refusedHosts;
  }

  /** A picture of the current page as PNG; undefined if there is no page yet or the picture fails. */
  async picture(isFullPage = false): Promise<Buffer | undefined> {
    if (this.pages.current.isClosed() || this.pages.current.url() === blankUrl) return undefined;
    const timeout = this.#isUnresponsive ? responseTime : pictureTime;
    const picture = await this.pages.current
      .screenshot({ type: 'png', fullPage: isFullPage, timeout, animations: 'disabled' })
      .catch(() => undefined);
    this.#isUnresponsive = picture === undefined;
    return picture;
  }

  /**
   * The response of a page, within a time limit: a page whose script never ends does not respond, and the library waits for some
   * responses forever. Throws ServiceError 400 `browse_failed` after the time limit, or the signal's reason.
   */
  askPage<T>(ask: () => Promise<T>, timeoutMs: number): Promise<T> {
    const timeoutError = () => browseFailed(`the page did not respond within ${formatDuration(timeoutMs)}`);
    return withinTime(systemClock, { limit: timeoutMs, timeoutError, signal: this.#signal }, ask);
  }

  /** The title of the current page; an empty text if the page does not respond. */
  async title(): Promise<string> {
    return this.#isUnresponsive ? '' : await this.askPage(() => this.pages.current.title(), stateTimeout).catch(() => '');
  }

  /**
   * Loads a URL in the current page, or in a new one if the current one is of no use any more: its script never ends, it has crashed,
   * or it loads something else all the time. Throws the errors of the library.
   */
  async load(url: string, timeoutMs: number): Promise<Response | null> {
    if (this.pages.isBroken || (this.#isUnresponsive && !(await this.#responds()))) await this.#replacePage();
    this.pages.startAction();
    const goto = () => this.pages.current.goto(url, { timeout: timeoutMs });
    return await goto().catch(async (error: unknown) => {
      if (!isInterrupted(error)) throw error;
      await this.#replacePage();
      return await goto();
    });
  }

  /** Whether the current page executes scripts. */
  #responds(): Promise<boolean> {
    return this.askPage(() => this.pages.current.evaluate('true'), responseTime).then(
      () => true,
      () => false,
    );
  }

  async #replacePage(): Promise<void> {
    await this.pages.replace(this.#viewport);
    this.#isUnresponsive = false;
    this.lastPicture = undefined;
  }

  /** Sets the size of the current page. A page that does not respond keeps its size; the next action on it will fail. */
  async resize(size: Viewport): Promise<void> {
    this.#viewport = size;
    const limit = this.#isUnresponsive ? responseTime : stateTimeout;
    await this.askPage(() => this.pages.current.setViewportSize(size), limit).catch(() => undefined);
    this.#signal.throwIfAborted();
  }

  /** Does what starts a download. Returns undefined if none starts within `timeoutMs` milliseconds after that. */
  downloadOf(start: () => Promise<unknown>, timeoutMs: number): Promise<Download | undefined> {
    return this.pages.downloadOf(start, timeoutMs, this.#signal);
  }

  /**
   * Waits until a download is complete, as long as it makes progress. Throws ServiceError 400 `browse_failed` when it failed or
   * stalled for `timeoutMs`, 413 `file_too_large` when it exceeds `limit` bytes.
   */
  async waitForDownload(download: Download, { timeoutMs, limit }: { timeoutMs: number; limit: number }): Promise<void> {
    const downloadEnd = download.failure().then((failure) => ({ failure }));
    downloadEnd.catch(() => undefined);
    const before = await sizeOf(this.#folders.downloads);
    let [size, sizeTime] = [before, steadyTime(systemClock)];
    for (;;) {
      const end = await Promise.race([downloadEnd, systemClock.sleep(downloadPoll, this.#signal).then(() => undefined)]);
      if (end?.failure === null) return;
      if (end !== undefined) throw browseFailed(`the download failed: ${end.failure}`);
      const now = await sizeOf(this.#folders.downloads);
      if (now > size) [size, sizeTime] = [now, steadyTime(systemClock)];
      const tooLarge = size - before > limit;
      if (!tooLarge && steadyTime(systemClock) - sizeTime < timeoutMs) continue;
      await download.cancel();
      if (tooLarge) throw new ServiceError(413, 'file_too_large', `the download is larger than ${limit} bytes`);
      throw browseFailed(`the download made no progress for ${formatDuration(timeoutMs)}`);
    }
  }

  /**
   * Stores cookies, local storage, and the URL of the page for a later session of the run. If the page does not respond, the state
   * of an earlier step is kept.
   */
  async keep(): Promise<void> {
    if (this.#isUnresponsive) return;
    const storage = await this.askPage(() => this.#context.storageState(), stateTimeout).catch(() => undefined);
    this.#signal.throwIfAborted();
    if (storage === undefined) return;
    const state: SessionState = { url: this.pages.current.url(), storage };
    const file = this.#folders.state;
    // Synced, because the name would otherwise lead to an empty file after a power failure.
    await writeFile(`${file}.new`, JSON.stringify(state), { mode: 0o600, flush: true });
    await rename(`${file}.new`, file);
  }

  /** Ends the browser and removes its files, except for the stored state. */
  close(): Promise<void> {
    this.#closePromise ??= this.#end();
    return this.#closePromise;
  }

  async #end(): Promise<void> {
    this.#signal.removeEventListener('abort', this.#kill);
    await endChromium({ context: this.#context, keeper: this.#keeper }, this.#kill);
    await this.#endProxy();
    await this.#folders.remove();
  }

  /** Ends the browser immediately, whatever its pages are doing. Pending calls fail. */
  readonly #kill = (): void => {
    if (this.#keeper === undefined) void this.#context.close().catch(() => undefined);
    else void this.#keeper.signal('KILL');
  };

  /** Opens the page of an earlier session of the run, unless a page is open. Returns false if there is no such page. */
  async resume(): Promise<boolean> {
    if (this.pages.current.url() !== blankUrl) return true;
    if (!/^https?:/.test(this.#restoredUrl)) return false;
    // If the page has gone, the next action on it will fail.
    await this.pages.current.goto(this.#restoredUrl, { timeout: startTime }).catch(() => undefined);
    return true;
  }

  /** Restores the state of an earlier session of the run; its page is opened on demand. */
  async #restore(): Promise<void> {
    const text = await readFile(this.#folders.state, 'utf8').catch(() => undefined);
    if (text === undefined) return;
    const state = JSON.parse(text) as SessionState;
    await this.#context.setStorageState(state.storage);
    this.#restoredUrl = state.url;
  }
}

/** The size of the files in a folder, in bytes. */
async function sizeOf(folder: string): Promise<number> {
  const sizes = (await readdir(folder)).map((name) =>
    stat(path.join(folder, name)).then(
      ({ size }) => size,
      // The file was renamed or removed in the meantime.
      () => 0,
    ),
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

interface Folders {
  profile: string;
  downloads: string;
  state: string;
  remove(): Promise<void>;
}

interface Parts {
  context: BrowserContext;
  keeper: Keeper | undefined;
  folders: Folders;
  proxy: { refusedHosts: ReadonlySet<string>; close(): Promise<void> } | undefined;
}

async function start(executable: string, browsing: BrowserOptions, sandbox: Sandbox): Promise<Parts> {
  const folders = await makeFolders(sandbox);
  const proxy = browsing.policy === 'public' ? await (await import('./public-proxy.ts')).startPublicProxy() : undefined;
  try {
    const { context, keeper } = await launchChromium({
      executable,
      searchPath: browsing.searchPath,
      profile: folders.profile,
      args: proxy === undefined ? [] : ['--force-webrtc-ip-handling-policy=disable_non_proxied_udp'],
      ...(proxy === undefined ? {} : { proxy: { server: proxy.url } }),
      viewport: defaultViewport,
      acceptDownloads: true,
      downloadsPath: folders.downloads,
      artifactsDir: folders.downloads,
    });
    return { context, keeper, folders, proxy };
  } catch (error) {
    await proxy?.close();
    await folders.remove();
    throw error;
  }
}

async function makeFolders(sandbox: Sandbox): Promise<Folders> {
  const privateFolder = await sandbox.privateFolder('browser');
  const downloads = path.join(privateFolder, 'downloads');
  // The folder might have been left behind by a session that was killed.
  await rm(downloads, { recursive: true, force: true });
  await mkdir(downloads, { mode: 0o700 });
  const profile = await mkdtemp(path.join(tmpdir(), 'aops-browser-'));
  return {
    profile,
    downloads,
    state: path.join(privateFolder, 'state.json'),
    async remove() {
      for (const folder of [profile, downloads])
        await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }).catch(() => undefined);
    },
  };
}
