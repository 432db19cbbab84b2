/**
 * The browser of one run: one Chromium process with one context. It is started when a step first needs it and ended when the
 * run stops being executed; its cookies and local storage, and where it was, are kept beside the run's files, so a later session goes on there.
 */

import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BrowserContext, Download, Page } from 'playwright-core';
import { steadyTime, systemClock } from '../../base/clock.ts';
import { deferred } from '../../base/deferred.ts';
import { formatDuration } from '../../base/duration.ts';
import { ServiceError } from '../errors.ts';
import { withinTime } from '../outbound/within-time.ts';
import type { Keeper } from '../sandbox/keeper.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { type Browsing, findChromium } from './chromium.ts';
import { endChromium, launchChromium, startTime } from './launch.ts';
import { browseFailed } from './problems.ts';

export interface SessionOptions {
  browsing: Browsing;
  sandbox: Sandbox;
  signal: AbortSignal;
}

export interface Viewport {
  width: number;
  height: number;
}

export const defaultViewport: Viewport = { width: 1280, height: 800 };

/** Milliseconds that a picture may take. */
const pictureTime = 5_000;
/** Milliseconds that a page may take to tell what it holds: its title, what it keeps. */
const tellingTime = 5_000;
/** Milliseconds between looks at how far a download is. */
const downloadLook = 100;
/** The address of a page that has not been anywhere. */
export const blank = 'about:blank';
/** How many messages of the console are kept for a step, and characters of each. */
const mostErrors = 20;
const longestError = 500;
/** What a later session of the run needs. */
interface Kept {
  url: string;
  storage: Awaited<ReturnType<BrowserContext['storageState']>>;
}

export class BrowserSession {
  readonly #context: BrowserContext;
  readonly #keeper: Keeper | undefined;
  readonly #folders: Folders;
  readonly #signal: AbortSignal;
  readonly #refused: ReadonlySet<string>;
  readonly #endProxy: () => Promise<void>;
  #page: Page;
  /** Resolves when another page comes to the front. */
  #turned = deferred();
  #errors: string[] = [];
  #ended: Promise<void> | undefined;
  #isOver = false;
  /** Whether the page gave no picture of itself: it is not asked for more then. */
  #silent = false;
  /** Where an earlier session of the run was. */
  #keptUrl = '';
  /** Whether dialogs of pages are accepted; dismissed otherwise. */
  acceptDialogs = false;
  /** The last picture that was taken: its digest, and the event that it belongs to. */
  lastPicture: { digest: string; of: string } | undefined;

  private constructor(parts: Parts, signal: AbortSignal) {
    this.#context = parts.context;
    this.#keeper = parts.keeper;
    this.#folders = parts.folders;
    this.#refused = parts.proxy?.refused ?? new Set();
    this.#endProxy = parts.proxy?.close ?? (async () => undefined);
    this.#signal = signal;
    this.#page = parts.context.pages()[0] as Page;
    for (const page of parts.context.pages()) this.#track(page);
    parts.context.on('page', (page) => this.#track(page));
    parts.context.on('close', () => {
      this.#isOver = true;
    });
    signal.addEventListener('abort', this.#kill, { once: true });
    // Aborted while it started: no event will come.
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

  /** Whether the browser has ended, by itself or not. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The page that is in front: the one opened last, of those that are open. */
  get page(): Page {
    return this.#page;
  }

  /** Hosts that were not let through because they are not public. */
  get refused(): ReadonlySet<string> {
    return this.#refused;
  }

  /** Errors of pages' consoles and scripts since this was asked last. */
  takeErrors(): string[] {
    return this.#errors.splice(0);
  }

  /** A picture of the page in front as PNG; undefined where there is no page yet, or none can be taken. */
  async picture(whole = false): Promise<Buffer | undefined> {
    if (this.#page.isClosed() || this.#page.url() === blank) return undefined;
    const picture = await this.#page
      .screenshot({ type: 'png', fullPage: whole, timeout: pictureTime, animations: 'disabled' })
      .catch(() => undefined);
    this.#silent = picture === undefined;
    return picture;
  }

  /**
   * What a page answers, within a time: one whose script never ends answers nothing, and the library waits for some answers without
   * a limit. Throws ServiceError 400 `browse_failed` after it, or the signal's reason.
   */
  answered<T>(ask: () => Promise<T>, timeoutMs: number): Promise<T> {
    const late = () => browseFailed(`the page did not answer within ${formatDuration(timeoutMs)}`);
    return withinTime(systemClock, { limit: timeoutMs, late, signal: this.#signal }, ask);
  }

  /** The title of the page in front; an empty text where it does not tell. */
  async title(): Promise<string> {
    return this.#silent ? '' : await this.answered(() => this.#page.title(), tellingTime).catch(() => '');
  }

  /** Gives the page in front a size. One that does not answer keeps the size it has: what is done on it will say so. */
  async resize(size: Viewport): Promise<void> {
    await this.answered(() => this.#page.setViewportSize(size), tellingTime).catch(ignoreLate);
  }

  /**
   * Waits until a download is complete, for as long as it goes on. Throws ServiceError 400 `browse_failed` when nothing came for
   * `timeoutMs` or it failed, 413 `file_too_large` when more than `limit` bytes came.
   */
  async downloaded(download: Download, { timeoutMs, limit }: { timeoutMs: number; limit: number }): Promise<void> {
    const ended = download.failure().then((failure) => ({ failure }));
    ended.catch(() => undefined);
    const before = await sizeOf(this.#folders.downloads);
    let [size, since] = [before, steadyTime(systemClock)];
    for (;;) {
      const end = await Promise.race([ended, systemClock.sleep(downloadLook, this.#signal).then(() => undefined)]);
      if (end?.failure === null) return;
      if (end !== undefined) throw browseFailed(`the download failed: ${end.failure}`);
      const now = await sizeOf(this.#folders.downloads);
      if (now > size) [size, since] = [now, steadyTime(systemClock)];
      const tooLarge = size - before > limit;
      if (!tooLarge && steadyTime(systemClock) - since < timeoutMs) continue;
      await download.cancel();
      if (tooLarge) throw new ServiceError(413, 'file_too_large', `the download is larger than ${limit} bytes`);
      throw browseFailed(`the download did not go on within ${formatDuration(timeoutMs)}`);
    }
  }

  /**
   * Keeps cookies, local storage and the address of the page for a later session of the run. What an earlier step kept stays when the
   * page does not answer.
   */
  async keep(): Promise<void> {
    if (this.#silent) return;
    const storage = await this.answered(() => this.#context.storageState(), tellingTime).catch(ignoreLate);
    if (storage === undefined) return;
    const kept: Kept = { url: this.#page.url(), storage };
    const file = this.#folders.state;
    await writeFile(`${file}.new`, JSON.stringify(kept), { mode: 0o600 });
    await rename(`${file}.new`, file);
  }

  /** Ends the browser and removes what it wrote, except what was kept. */
  close(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    this.#signal.removeEventListener('abort', this.#kill);
    await endChromium({ context: this.#context, keeper: this.#keeper }, this.#kill);
    await this.#endProxy();
    await this.#folders.remove();
  }

  /** At once, whatever its pages are doing. Calls that wait for the browser fail. */
  readonly #kill = (): void => {
    if (this.#keeper === undefined) void this.#context.close().catch(() => undefined);
    else void this.#keeper.signal('KILL');
  };

  #track(page: Page): void {
    this.#show(page);
    page.on('console', (message) => {
      if (message.type() === 'error') this.#note(message.text());
    });
    page.on('pageerror', (error) => this.#note(error.message));
    page.on('crash', () => this.#note('the page crashed'));
    page.on('dialog', (dialog) => {
      // Whether a page may be left is not for the page to say: the run would stay there for ever.
      const accepted = this.acceptDialogs || dialog.type() === 'beforeunload';
      void (accepted ? dialog.accept(dialog.defaultValue()) : dialog.dismiss()).catch(() => undefined);
    });
    page.on('close', () => {
      const left = this.#context.pages().findLast((other) => !other.isClosed());
      if (this.#page === page && left !== undefined) this.#show(left);
    });
  }

  #show(page: Page): void {
    this.#page = page;
    this.#turned.resolve();
    this.#turned = deferred();
  }

  /**
   * Waits for something on the page in front, and begins again when another one comes to the front meanwhile: a browser tells of a page
   * that a click opens when it likes.
   */
  async wait<T>(look: (page: Page) => Promise<T>): Promise<T> {
    for (;;) {
      const turned = this.#turned.promise.then(() => undefined);
      const looked = look(this.#page).then((value) => ({ value }));
      const first = await Promise.race([looked, turned]);
      if (first !== undefined) return first.value;
      looked.catch(() => undefined);
    }
  }

  #note(text: string): void {
    if (this.#errors.length < mostErrors) this.#errors.push(text.slice(0, longestError));
  }

  /** Goes on with the page that an earlier session of the run kept, unless there is one. False when there is none. */
  async resume(): Promise<boolean> {
    if (this.#page.url() !== blank) return true;
    if (!/^https?:/.test(this.#keptUrl)) return false;
    // That it is gone is no failure yet; what is done on it will be.
    await this.#page.goto(this.#keptUrl, { timeout: startTime }).catch(() => undefined);
    return true;
  }

  /** Brings back what an earlier session of the run kept; its page when it is asked for. */
  async #restore(): Promise<void> {
    const text = await readFile(this.#folders.state, 'utf8').catch(() => undefined);
    if (text === undefined) return;
    const kept = JSON.parse(text) as Kept;
    await this.#context.setStorageState(kept.storage);
    this.#keptUrl = kept.url;
  }
}

/** Bytes of the files in a folder. */
async function sizeOf(folder: string): Promise<number> {
  const sizes = (await readdir(folder)).map((name) =>
    stat(path.join(folder, name)).then(
      ({ size }) => size,
      // Renamed or removed meanwhile.
      () => 0,
    ),
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

function ignoreLate(error: unknown): undefined {
  if (!(error instanceof ServiceError)) throw error;
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
  proxy: { refused: ReadonlySet<string>; close(): Promise<void> } | undefined;
}

async function start(executable: string, browsing: Browsing, sandbox: Sandbox): Promise<Parts> {
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
  const own = await sandbox.privateFolder('browser');
  const downloads = path.join(own, 'downloads');
  // Of a session that was killed.
  await rm(downloads, { recursive: true, force: true });
  await mkdir(downloads, { mode: 0o700 });
  const profile = await mkdtemp(path.join(tmpdir(), 'aops-browser-'));
  return {
    profile,
    downloads,
    state: path.join(own, 'state.json'),
    async remove() {
      for (const folder of [profile, downloads])
        await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }).catch(() => undefined);
    },
  };
}
