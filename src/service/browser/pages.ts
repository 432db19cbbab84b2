/** The pages of a browser, which may do anything: open further pages, show dialogs, start downloads, or never respond again. */
import type { BrowserContext, Download, Page } from 'playwright-core';
import { steadyTime, systemClock } from '../../base/clock.ts';
import { deferred } from '../../base/deferred.ts';

export interface Viewport {
  width: number;
  height: number;
}

/** The number of console messages that are stored for a step, and the characters of each. */
const maxErrors = 20;
const maxErrorLength = 500;
/** The number of open pages. When there are more, the one that was opened first is closed. */
const maxPages = 20;
/** The number of dialogs during one action after which a page cannot be expected to do anything else, such as opening a URL. */
const maxDialogs = 20;
/** The number of documents that a page loads during one action after which the same applies. */
const maxLoads = 10;

export class Pages {
  readonly #context: BrowserContext;
  #current: Page;
  /** Resolves when another page becomes the current one. */
  #change = deferred();
  /** Resolves when the browser ends. */
  readonly #end = deferred();
  #errors: string[] = [];
  readonly #crashedPages = new WeakSet<Page>();
  /** The dialogs of the current page since the last call of `startAction`. */
  #dialogCount = 0;
  /** The documents that the current page has loaded since then. */
  #loadCount = 0;
  #onDownload: ((download: Download) => void) | undefined;
  /** Whether dialogs of pages are accepted or dismissed. */
  acceptDialogs = false;

  /** @param context a browser with at least one page */
  constructor(context: BrowserContext) {
    this.#context = context;
    this.#current = context.pages()[0] as Page;
    for (const page of context.pages()) this.#track(page);
    context.once('close', this.#end.resolve);
    context.on('page', (page) => {
      this.#track(page);
      const openPages = context.pages();
      if (openPages.length > maxPages) void openPages[0]?.close().catch(() => undefined);
    });
  }

  /** The current page: the open page that was opened last. */
  get current(): Page {
    return this.#current;
  }

  /** Whether the current page has crashed, shows one dialog after another, or loads one document after another. */
  get isBroken(): boolean {
    return this.#crashedPages.has(this.#current) || this.#dialogCount > maxDialogs || this.#loadCount > maxLoads;
  }

  /** To be called before each action that expects the current page to do something. */
  startAction(): void {
    this.#dialogCount = 0;
    this.#loadCount = 0;
  }

  /** Errors of the pages' consoles and scripts since the previous call. */
  takeErrors(): string[] {
    return this.#errors.splice(0);
  }

  /**
   * Waits for something on the current page, and starts again with the remaining time when another page becomes the current one in the
   * meantime: a browser can report the page that a click opens at any time.
   * @param timeoutMs milliseconds for all pages together
   * @param check waits at most as many milliseconds as it is given
   */
  async wait<T>(timeoutMs: number, check: (page: Page, timeoutMs: number) => Promise<T>): Promise<T> {
    const endTime = steadyTime(systemClock) + timeoutMs;
    for (;;) {
      const remaining = endTime - steadyTime(systemClock);
      // The library takes 0 for no time limit.
      const result = check(this.#current, Math.max(1, remaining));
      if (remaining <= 0) return await result;
      const pageChange = this.#change.promise.then(() => undefined);
      const first = await Promise.race([result.then((value) => ({ value })), pageChange]);
      if (first !== undefined) return first.value;
      result.catch(() => undefined);
    }
  }

  /**
   * Does what starts a download. Returns the download, or undefined if none starts within `timeoutMs` milliseconds after that, or the
   * browser ends.
   */
  async downloadOf(start: () => Promise<unknown>, timeoutMs: number, signal: AbortSignal): Promise<Download | undefined> {
    const end = new AbortController();
    const begun = new Promise<Download>((resolve) => {
      this.#onDownload = resolve;
    });
    try {
      await start();
      const timeout = systemClock.sleep(timeoutMs, AbortSignal.any([signal, end.signal])).then(() => undefined);
      return await Promise.race([begun, timeout, this.#end.promise.then(() => undefined)]);
    } finally {
      this.#onDownload = undefined;
      end.abort();
    }
  }

  /** Closes the current page, and continues with a new one of this size. */
  async replace(size: Viewport): Promise<void> {
    const broken = this.#current;
    const page = await this.#context.newPage();
    await page.setViewportSize(size);
    // Not awaited, because it might not respond to this, either.
    void broken.close().catch(() => undefined);
    this.#show(page);
  }

  #track(page: Page): void {
    this.#show(page);
    page.on('console', (message) => {
      if (message.type() === 'error') this.#note(message.text());
    });
    page.on('pageerror', (error) => this.#note(error.message));
    page.on('crash', () => {
      this.#crashedPages.add(page);
      this.#note('the page crashed');
    });
    page.on('dialog', (dialog) => {
      if (page === this.#current) this.#dialogCount += 1;
      // A page must not prevent the run from leaving it; otherwise the run would stay there forever.
      const isAccepted = this.acceptDialogs || dialog.type() === 'beforeunload';
      void (isAccepted ? dialog.accept(dialog.defaultValue()) : dialog.dismiss()).catch(() => undefined);
    });
    page.on('domcontentloaded', () => {
      if (page === this.#current) this.#loadCount += 1;
    });
    page.on('download', (download) => {
      const take = this.#onDownload;
      this.#onDownload = undefined;
      // Nobody would read it, and it might never end.
      if (take === undefined) void download.cancel().catch(() => undefined);
      else take(download);
    });
    page.on('close', () => {
      const remaining = this.#context.pages().findLast((page) => !page.isClosed());
      if (this.#current === page && remaining !== undefined) this.#show(remaining);
    });
  }

  #show(page: Page): void {
    if (page === this.#current) return;
    this.#current = page;
    this.startAction();
    this.#change.resolve();
    this.#change = deferred();
  }

  #note(text: string): void {
    if (this.#errors.length < maxErrors) this.#errors.push(text.slice(0, maxErrorLength));
  }
}
