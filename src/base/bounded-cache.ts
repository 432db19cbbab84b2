/** A cache with a maximum size. What was used longest ago is forgotten first. */

export class BoundedCache<Value> {
  readonly #maxSize: number;
  readonly #sizeOf: (key: string, value: Value) => number;
  /** The most recently used entry comes last. */
  readonly #values = new Map<string, Value>();
  #size = 0;

  /** @param sizeOf the size of an entry, in the unit of `maxSize`; by default, each entry counts as 1 */
  constructor(maxSize: number, sizeOf: (key: string, value: Value) => number = () => 1) {
    this.#maxSize = maxSize;
    this.#sizeOf = sizeOf;
  }

  has(key: string): boolean {
    return this.#values.has(key);
  }

  get(key: string): Value | undefined {
    const value = this.#values.get(key);
    if (value !== undefined) {
      this.#values.delete(key);
      this.#values.set(key, value);
    }
    return value;
  }

  delete(key: string): void {
    const value = this.#values.get(key);
    if (value === undefined) return;
    this.#values.delete(key);
    this.#size -= this.#sizeOf(key, value);
  }

  /** Adds an entry that the cache does not contain. One that is too large for the whole cache is not kept. */
  set(key: string, value: Value): void {
    this.#values.set(key, value);
    this.#size += this.#sizeOf(key, value);
    for (const [oldest, oldestValue] of this.#values) {
      if (this.#size <= this.#maxSize) break;
      this.#values.delete(oldest);
      this.#size -= this.#sizeOf(oldest, oldestValue);
    }
  }
}
