/** Runs work for the same key one after the other. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Calls `work` when all earlier work for the key has ended, whether it succeeded or not. */
  async run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const turn = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const settled = turn.catch(() => undefined);
    this.#last.set(key, settled);
    try {
      return await turn;
    } finally {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    }
  }

  /** Whether work for the key is in progress or waiting. */
  isBusy(key: string): boolean {
    return this.#last.has(key);
  }
}
