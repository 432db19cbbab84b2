/** Starts a Chromium in a profile of its own, with nothing of the service's environment, so that all of it can be ended at once. */

import { tmpdir, userInfo } from 'node:os';
import type { Browser, BrowserContext } from 'playwright-core';
import { hostTrouble } from '../host-trouble.ts';
import { type Keeper, startKeeper } from '../sandbox/keeper.ts';
import { startProblem } from './problems.ts';
import { groupOf } from './process-group.ts';

/** Milliseconds that Chromium gets to start, and to end by itself. */
export const startTime = 30_000;
export const endTime = 3_000;
/** A socket's path has about 100 characters; Chromium makes one below TMPDIR. */
const longestTemporary = 60;

type ContextOptions = NonNullable<Parameters<typeof import('playwright-core')['chromium']['launchPersistentContext']>[1]>;

export interface LaunchOptions extends Omit<ContextOptions, 'executablePath' | 'env' | 'headless'> {
  executable: string;
  searchPath: string;
  /** Folder of the profile, removed with the browser should the service die. */
  profile: string;
}

export interface Launched {
  context: BrowserContext;
  /** Without one, where there is no shell, the library alone ends the browser. */
  keeper: Keeper | undefined;
}

/** Throws ServiceError 400 `browse_failed`. */
export async function launchChromium({ executable, searchPath, profile, ...options }: LaunchOptions): Promise<Launched> {
  const { chromium } = await import('playwright-core');
  const keeper = await startKeeper().catch(() => undefined);
  try {
    const context = await chromium.launchPersistentContext(profile, {
      executablePath: executable,
      headless: true,
      // Chromium refuses to make its sandbox for root; for everybody else it has one.
      chromiumSandbox: userInfo().uid !== 0,
      env: browserEnvironment(profile, searchPath),
      // The service decides when it ends, and tells its runs.
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

/** Ends a browser, at once when it does not by itself. */
export async function endChromium({ context, keeper }: Launched, kill: () => void): Promise<void> {
  const closed = context.close().catch(() => undefined);
  const late = setTimeout(kill, endTime);
  await closed;
  clearTimeout(late);
  // What is left of the group, if anything.
  await keeper?.signal('KILL');
  keeper?.dismiss();
}

/** Nothing of the service's own environment. */
function browserEnvironment(folder: string, searchPath: string): Record<string, string> {
  const temporary = Buffer.byteLength(folder) <= longestTemporary ? folder : tmpdir();
  return { PATH: searchPath, HOME: folder, TMPDIR: temporary, LANG: 'C.UTF-8' };
}
