/** That something ends by itself, and not when a time limit of its own comes: those that tests try it against are half a minute and more. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { quietly } from '../../src/base/quietly.ts';

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

/** Tells the milliseconds since it was started, without those in which this process could have gone on and other processes had the processors. */
export function stopwatch(): () => number {
  const [begun, before] = [performance.now(), keptWaiting()];
  return () => performance.now() - begun - (keptWaiting() - before);
}

/**
 * How long the threads of this process have waited for a processor so far, in milliseconds: the one that runs the tests waits for those that
 * collect garbage. Linux tells it; elsewhere nothing is taken off.
 */
function keptWaiting(): number {
  let nanoseconds = 0;
  // One may have ended meanwhile.
  for (const thread of existsSync(threads) ? readdirSync(threads) : [])
    quietly(() => {
      nanoseconds += Number(readFileSync(`${threads}/${thread}/schedstat`, 'utf8').split(' ')[1]);
    });
  return nanoseconds / 1e6;
}

const threads = '/proc/self/task';
