/** Limited concurrency. */
import { sharedSignal } from '../../base/abort.ts';

/** A fixed number of concurrent slots, first come, first served. */
export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Runs the work when a slot is free. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}

/**
 * Does the work for every item, started in order, at most `limit` at a time. The first failure aborts the others
 * through their signal, and is thrown when all have ended.
 */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  limit: number,
  signal: AbortSignal,
  work: (item: Item, signal: AbortSignal) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = new Array(items.length);
  const ended = new AbortController();
  const either = sharedSignal(signal, ended.signal);
  const queue = items.entries();
  let failure: { error: unknown } | undefined;
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) {
      try {
        either.throwIfAborted();
        results[index] = await work(item, either);
      } catch (error) {
        failure ??= { error };
        ended.abort(error);
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  if (failure) throw failure.error;
  return results;
}
