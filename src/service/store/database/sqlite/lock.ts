/** Lets one at a time through, in the order in which they came. */
export class Lock {
  #held = false;
  readonly #waiting: (() => void)[] = [];

  /** Resolves when it is the caller's; undefined when it is so at once. */
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
