/** Waits for an external condition: checks it repeatedly, up to a time limit. */
import { setTimeout as pause } from 'node:timers/promises';
import { patience } from './time-limits.ts';

/**
 * The first result that is neither undefined nor false.
 * @param description the condition, for the message if it never becomes true
 * @param limit milliseconds
 */
export async function eventually<Value>(
  description: string,
  ask: () => Promise<Value | undefined | false> | Value | undefined | false,
  limit = patience.outside,
): Promise<Value> {
  const deadline = Date.now() + limit;
  for (;;) {
    const value = await ask();
    if (value !== undefined && value !== false) return value;
    if (Date.now() > deadline) throw new Error(`Not within ${limit} ms: ${description}`);
    await pause(10);
  }
}
