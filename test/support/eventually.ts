/** Waiting for something outside to become true: asked again and again, up to a limit. */
import { setTimeout as pause } from 'node:timers/promises';

/**
 * The first answer that is neither undefined nor false.
 * @param what what is waited for, for the message when it never comes
 * @param limit milliseconds
 */
export async function eventually<Value>(
  what: string,
  ask: () => Promise<Value | undefined | false> | Value | undefined | false,
  limit = 30_000,
): Promise<Value> {
  const deadline = Date.now() + limit;
  for (;;) {
    const value = await ask();
    if (value !== undefined && value !== false) return value;
    if (Date.now() > deadline) throw new Error(`Not within ${limit} ms: ${what}`);
    await pause(10);
  }
}
