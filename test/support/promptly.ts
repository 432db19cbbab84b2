/** That something ends by itself, and not when a time limit of its own comes: those that tests try it against are half a minute and more. */
import { expect } from 'vitest';

/** How long a loaded machine may take for what needs no time, in milliseconds. */
const patience = 15_000;

/**
 * What the work gives. Fails the test unless it ended without waiting for something that takes its time.
 * @param limit milliseconds: what is promised, where something is
 */
export async function promptly<Value>(work: () => Promise<Value> | Value, limit = patience): Promise<Value> {
  const begun = performance.now();
  const value = await work();
  expect(performance.now() - begun).toBeLessThan(limit);
  return value;
}
