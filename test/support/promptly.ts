/** Checks that something ends by itself and not because of its time limit, which is half a minute or more in these tests. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { ignoreErrors } from '../../src/base/ignore-errors.ts';

/** How long a loaded machine may take for something that needs no waiting, in milliseconds. */
const promptLimit = 15_000;

/**
 * The result of the work. Fails the test if the work took so long that it must have waited for something.
 * @param limit milliseconds, if a limit is promised
 */
export async function runPromptly<Value>(work: () => Promise<Value> | Value, limit = promptLimit): Promise<Value> {
  const took = stopwatch();
  const value = await work();
  expect(took()).toBeLessThan(limit);
  return value;
}

/**
 * Measures the milliseconds since it was started, without the time for which a thread of this process was ready to run while other
 * processes used the processors. Only the thread that waited longest counts, because several may wait at the same time.
 */
export function stopwatch(): () => number {
  const [startedAt, before] = [performance.now(), waitCounts()];
  return () => {
    const waitTimes = [...waitCounts()].map(([thread, milliseconds]) => milliseconds - (before.get(thread) ?? 0));
    return performance.now() - startedAt - Math.max(0, ...waitTimes);
  };
}

/** How long each thread of this process has waited for a processor so far, in milliseconds; empty on other systems than Linux. */
function waitCounts(): Map<string, number> {
  const waitTimes = new Map<string, number>();
  for (const thread of existsSync(threads) ? readdirSync(threads) : []) {
    // A thread may have ended in the meantime.
    ignoreErrors(() => {
      waitTimes.set(thread, Number(readFileSync(`${threads}/${thread}/schedstat`, 'utf8').split(' ')[1]) / 1e6);
    });
  }
  return waitTimes;
}

const threads = '/proc/self/task';
