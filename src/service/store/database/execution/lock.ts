/** Lets one caller at a time continue, in the order in which they arrived. */
export class Lock {
  #isHeld = false;
  readonly #waiters: (() => void)[] = [];

  /** Resolves when the caller holds the lock; undefined if it does immediately. */
  acquire(): Promise<void> | undefined {
    if (this.#isHeld) return new Promise((resolve) => this.#waiters.push(resolve));
    this.#isHeld = true;
    return undefined;
  }

  release(): void {
    const next = this.#waiters.shift();
    if (next === undefined) this.#isHeld = false;
    else next();
  }
}
