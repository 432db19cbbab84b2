/** The process group of a browser, so that all its processes can be ended together. */
import { readFile } from 'node:fs/promises';
import type { Browser } from 'playwright-core';

/** The group of the browser's process; undefined when the browser does not report its process. */
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

/** A browser that a script starts is not the leader of its group. On systems other than Linux, it is assumed to be. */
async function groupOnLinux(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // "pid (name) state ppid pgrp ..."; the name can contain anything.
  const group = Number(status?.slice(status.lastIndexOf(')') + 2).split(' ')[2]);
  return Number.isInteger(group) && group > 1 ? group : undefined;
}
