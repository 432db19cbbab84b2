/** Lets one caller at a time continue, in the order in which they arrived. */
export class Lock {
  #held = false;
  readonly #waiting: (() => void)[] = [];

  /** Resolves when the caller holds the lock; undefined if it does immediately. */
  acquire(): Promise<void> | undefined {
    if (this.#held) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#held = true;
    return undefined;
  }

  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#held = false;
    else next();
  }
}
