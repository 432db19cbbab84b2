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
/** The number of open pages. Further ones are closed at once. */
const maxPages = 20;
/** The number of dialogs after which a page does nothing else, so that it cannot be expected to open a URL. */
const maxDialogs = 20;

export class Pages {
  readonly #context: BrowserContext;
  #current: Page;
  /** Resolves when another page becomes the current one. */
  #change = deferred();
  #errors: string[] = [];
  /** Pages that have crashed or show one dialog after another. */
  readonly #brokenPages = new WeakSet<Page>();
  readonly #dialogCounts = new WeakMap<Page, number>();
  #isReplacing = false;
  #onDownload: ((download: Download) => void) | undefined;
  /** Whether dialogs of pages are accepted or dismissed. */
  acceptDialogs = false;

  /** @param context a browser with at least one page */
  constructor(context: BrowserContext) {
    this.#context = context;
    this.#current = context.pages()[0] as Page;
    for (const page of context.pages()) this.#track(page);
    context.on('page', (page) => {
      if (context.pages().length > maxPages && !this.#isReplacing) void page.close().catch(() => undefined);
      else this.#track(page);
    });
  }

  /** The current page: the open page that was opened last. */
  get current(): Page {
    return this.#current;
  }

  /** Whether the current page has crashed, or shows one dialog after another. */
  get isBroken(): boolean {
    return this.#brokenPages.has(this.#current);
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

  /** Does what starts a download. Returns the download, or undefined if none starts within `timeoutMs` milliseconds after that. */
  async downloadOf(start: () => Promise<unknown>, timeoutMs: number, signal: AbortSignal): Promise<Download | undefined> {
    const begun = new Promise<Download>((resolve) => {
      this.#onDownload = (download) => {
        this.#onDownload = undefined;
        resolve(download);
      };
    });
    const end = new AbortController();
    try {
      await start();
      return await Promise.race([begun, systemClock.sleep(timeoutMs, AbortSignal.any([signal, end.signal])).then(() => undefined)]);
    } finally {
      this.#onDownload = undefined;
      end.abort();
    }
  }

  /** Closes the current page, and continues with a new one of this size. */
  async replace(size: Viewport): Promise<void> {
    const broken = this.#current;
    this.#isReplacing = true;
    const page = await this.#context.newPage().finally(() => {
      this.#isReplacing = false;
    });
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
      this.#brokenPages.add(page);
      this.#note('the page crashed');
    });
    page.on('dialog', (dialog) => {
      const count = (this.#dialogCounts.get(page) ?? 0) + 1;
      this.#dialogCounts.set(page, count);
      if (count > maxDialogs) this.#brokenPages.add(page);
      // A page must not prevent the run from leaving it; otherwise the run would stay there forever.
      const isAccepted = this.acceptDialogs || dialog.type() === 'beforeunload';
      void (isAccepted ? dialog.accept(dialog.defaultValue()) : dialog.dismiss()).catch(() => undefined);
    });
    page.on('download', (download) => {
      // Nobody would read it, and it might never end.
      if (this.#onDownload === undefined) void download.cancel().catch(() => undefined);
      else this.#onDownload(download);
    });
    page.on('close', () => {
      const remaining = this.#context.pages().findLast((page) => !page.isClosed());
      if (this.#current === page && remaining !== undefined) this.#show(remaining);
    });
  }

  #show(page: Page): void {
    if (page === this.#current) return;
    this.#current = page;
    this.#change.resolve();
    this.#change = deferred();
  }

  #note(text: string): void {
    if (this.#errors.length < maxErrors) this.#errors.push(text.slice(0, maxErrorLength));
  }
}
