/** Work that must not happen at the same time for the same key, one after the other. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Calls `work` when all earlier work for the key has ended, whether or not it succeeded. */
  async take<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
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
  isTaken(key: string): boolean {
    return this.#last.has(key);
  }
}
