/** That something ends by itself, and not when a time limit of its own comes: those that tests try it against are half a minute and more. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { ignoreErrors } from '../../src/base/ignore-errors.ts';

/** How long a loaded machine may take for what needs no time, in milliseconds. */
const patience = 15_000;

/**
 * What the work gives. Fails the test unless it ended without waiting for something that takes its time.
 * @param limit milliseconds: what is promised, where something is
 */
export async function promptly<Value>(work: () => Promise<Value> | Value, limit = patience): Promise<Value> {
  const took = stopwatch();
  const value = await work();
  expect(took()).toBeLessThan(limit);
  return value;
}

/**
 * Tells the milliseconds since it was started, without those in which a thread of this process could have gone on while other processes
 * had the processors. Of its threads the one counts that was kept waiting longest: several may wait at the same time.
 */
export function stopwatch(): () => number {
  const [begun, before] = [performance.now(), keptWaiting()];
  return () => {
    const waits = [...keptWaiting()].map(([thread, milliseconds]) => milliseconds - (before.get(thread) ?? 0));
    return performance.now() - begun - Math.max(0, ...waits);
  };
}

/** How long each thread of this process has waited for a processor so far, in milliseconds. Linux tells it; elsewhere nothing is known. */
function keptWaiting(): Map<string, number> {
  const waits = new Map<string, number>();
  for (const thread of existsSync(threads) ? readdirSync(threads) : []) {
    // One may have ended meanwhile.
    ignoreErrors(() => {
      waits.set(thread, Number(readFileSync(`${threads}/${thread}/schedstat`, 'utf8').split(' ')[1]) / 1e6);
    });
  }
  return waits;
}

const threads = '/proc/self/task';
