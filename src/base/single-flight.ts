/** Shares work between callers who ask for the same thing at the same time. */

export class SingleFlight<T> {
  readonly #inFlight = new Map<string, Promise<T>>();

  /** The result of `work`, or that of the work in progress under the same key. */
  run(key: string, work: () => Promise<T>): Promise<T> {
    const current = this.#inFlight.get(key);
    if (current !== undefined) return current;
    const promise = work().finally(() => this.#inFlight.delete(key));
    this.#inFlight.set(key, promise);
    return promise;
  }
}
