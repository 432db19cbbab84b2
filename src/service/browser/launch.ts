/** Starts a Chromium with a separate profile and without the service's environment, so that all its processes can be ended together. */

import { tmpdir } from 'node:os';
import type { Browser, BrowserContext } from 'playwright-core';
import { hostTrouble } from '../host-trouble.ts';
import { type Keeper, startKeeper } from '../sandbox/keeper.ts';
import { browserLibrary } from './library.ts';
import { startProblem } from './problems.ts';
import { groupOf } from './process-group.ts';

/** The time limits for Chromium to start, and to end on its own, in milliseconds. */
export const startTime = 30_000;
export const endTime = 3_000;
/** The path of a socket can have about 100 characters, and Chromium creates one below TMPDIR. */
const maxTemporaryPathBytes = 60;

type ContextOptions = NonNullable<Parameters<typeof import('playwright-core')['chromium']['launchPersistentContext']>[1]>;

export interface LaunchOptions extends Omit<ContextOptions, 'executablePath' | 'env' | 'headless'> {
  executable: string;
  searchPath: string;
  /** The folder of the profile, which is removed with the browser if the service dies. */
  profile: string;
}

export interface LaunchedBrowser {
  context: BrowserContext;
  /** Undefined on systems without a shell, where only the library ends the browser. */
  keeper: Keeper | undefined;
}

/** Throws ServiceError 400 `no_browser` or `browse_failed`. */
export async function launchChromium({ executable, searchPath, profile, ...options }: LaunchOptions): Promise<LaunchedBrowser> {
  const { chromium } = await browserLibrary();
  const keeper = await startKeeper().catch(() => undefined);
  try {
    const context = await chromium.launchPersistentContext(profile, {
      executablePath: executable,
      headless: true,
      // Chromium cannot create its sandbox for root; every other user gets one.
      chromiumSandbox: process.getuid?.() !== 0,
      env: browserEnvironment(profile, searchPath),
      // The service decides when the browser ends, and informs its runs.
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
      timeout: startTime,
      locale: 'en-US',
      reducedMotion: 'reduce',
      ...options,
    });
    const group = await groupOf(context.browser() as Browser);
    if (group !== undefined) keeper?.keep(group, profile);
    return { context, keeper };
  } catch (error) {
    keeper?.dismiss();
    throw hostTrouble(error) === undefined ? startProblem(executable, error) : error;
  }
}

/** Ends a browser; kills it if it does not end on its own. */
export async function endChromium({ context, keeper }: LaunchedBrowser, kill: () => void): Promise<void> {
  const closed = context.close().catch(() => undefined);
  const timer = setTimeout(kill, endTime);
  await closed;
  clearTimeout(timer);
  // The remaining processes of the group, if any.
  await keeper?.signal('KILL');
  keeper?.dismiss();
}

/** The environment of the browser, without that of the service. */
function browserEnvironment(folder: string, searchPath: string): Record<string, string> {
  const temporary = Buffer.byteLength(folder) <= maxTemporaryPathBytes ? folder : tmpdir();
  return { PATH: searchPath, HOME: folder, TMPDIR: temporary, LANG: 'C.UTF-8' };
}
