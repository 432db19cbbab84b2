/** Pages of one real browser for the tests of a file, each watched for errors. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { chromium, windowedChromium } from './chromium.ts';
import { afterTest, whenDone } from './temporary.ts';
import { patience } from './time-limits.ts';

/** Without a process for a GPU, which machines for tests do not have: emulating it takes an eighth of the browser's CPU time. */
export const browserArguments = ['--disable-gpu'];

let browser: Promise<Browser> | undefined;

async function start(executable: string | undefined): Promise<Browser> {
  // Also if it does not start, so that the next file tries again.
  let sharedBrowser: Browser | undefined;
  whenDone(() => {
    browser = undefined;
    return sharedBrowser?.close();
  });
  const { chromium: driver } = await import('playwright-core');
  sharedBrowser = await driver.launch({ ...(executable === undefined ? {} : { executablePath: executable }), args: browserArguments });
  return sharedBrowser;
}

/**
 * A page with a separate profile, and everything that went wrong on it so far: errors, policy violations, dialogs. Service workers are
 * blocked unless a test is about them, because they request every file of the page again. The page is closed after the test: its timers
 * and its window would continue to take CPU time.
 */
export async function newPage(options: BrowserContextOptions = {}): Promise<{ page: Page; problems: string[] }> {
  // A browser without windows denies notifications.
  browser ??= start(options.permissions?.includes('notifications') ? windowedChromium : chromium);
  const context = await (await browser).newContext({ viewport: { width: 1000, height: 700 }, serviceWorkers: 'block', ...options });
  const page = await context.newPage();
  afterTest(async () => {
    // The page can be in the middle of a request that a test changes.
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await context.close();
  });
  page.setDefaultTimeout(patience.outside);
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('console', (message) => message.type() === 'error' && problems.push(`console: ${message.text()}`));
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('popup', (popup) => problems.push(`popup: ${popup.url()}`));
  await page.exposeFunction('reportViolation', (text: string) => problems.push(`policy: ${text}`));
  await page.addInitScript({
    content: `document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => reportViolation(violatedDirective + ' ' + blockedURI));`,
  });
  return { page, problems };
}
