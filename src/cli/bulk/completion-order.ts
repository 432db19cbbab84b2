/**
 * Does the work for every item, started in order, at most `limit` at a time, and yields the results as they arrive. Once `isStopped`
 * returns true, no more work is started, and the generator ends with the results of the work in progress.
 * @param work must not reject
 */
export async function* inCompletionOrder<Item, Result>(
  items: Iterable<Item>,
  limit: number,
  isStopped: () => boolean,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result, void, undefined> {
  const iterator = items[Symbol.iterator]();
  const inProgress = new Map<number, Promise<{ id: number; result: Result }>>();
  for (let id = 0; ; ) {
    while (inProgress.size < limit && !isStopped()) {
      const next = iterator.next();
      if (next.done) break;
      id += 1;
      const ownId = id;
      inProgress.set(
        ownId,
        work(next.value).then((result) => ({ id: ownId, result })),
      );
    }
    if (inProgress.size === 0) return;
    const done = await Promise.race(inProgress.values());
    inProgress.delete(done.id);
    yield done.result;
  }
}
