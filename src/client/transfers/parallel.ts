/** Limited concurrency. */
import { sharedSignal } from '../../base/abort.ts';

/**
 * Does the work for every item, started in order, at most `limit` at a time. The first failure aborts the others
 * through their signal, and is thrown when all have ended.
 */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  limit: number,
  signal: AbortSignal,
  task: (item: Item, signal: AbortSignal) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = new Array(items.length);
  const failureController = new AbortController();
  const combinedSignal = sharedSignal(signal, failureController.signal);
  const queue = items.entries();
  let failure: { error: unknown } | undefined;
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) {
      try {
        combinedSignal.throwIfAborted();
        results[index] = await task(item, combinedSignal);
      } catch (error) {
        failure ??= { error };
        failureController.abort(error);
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: limit }, worker));
  if (failure) throw failure.error;
  return results;
}
