/** The process group of a browser, so that all of it can be ended at once. */
import { readFile } from 'node:fs/promises';
import type { Browser } from 'playwright-core';

/** The group that the browser's process belongs to; undefined when the browser does not say. */
export async function groupOf(browser: Browser): Promise<number | undefined> {
  const session = await browser.newBrowserCDPSession();
  try {
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    const pid = processInfo.find(({ type }) => type === 'browser')?.id;
    return pid === undefined ? undefined : ((await groupOnLinux(pid)) ?? pid);
  } finally {
    await session.detach();
  }
}

/** A browser behind a script is not the leader of its group. Elsewhere than on Linux it is taken for it. */
async function groupOnLinux(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // "pid (name) state ppid pgrp ..."; the name may contain anything.
  const group = Number(status?.slice(status.lastIndexOf(')') + 2).split(' ')[2]);
  return Number.isInteger(group) && group > 1 ? group : undefined;
}
