/** Limits how much is in progress at a time. */

/** A fixed number of concurrent slots, first come, first served. */
export class Slots {
  #freeSlots: number;
  readonly #waiters: (() => void)[] = [];

  constructor(count: number) {
    this.#freeSlots = count;
  }

  /** Runs the work when a slot is free. */
  async run<Result>(task: () => Promise<Result>): Promise<Result> {
    await this.take();
    try {
      return await task();
    } finally {
      this.free();
    }
  }

  /** Resolves when a slot is free, which is then taken. */
  async take(): Promise<void> {
    if (this.#freeSlots > 0) this.#freeSlots -= 1;
    else await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  /** Frees a slot that was taken. */
  free(): void {
    const wakeNext = this.#waiters.shift();
    if (wakeNext) wakeNext();
    else this.#freeSlots += 1;
  }
}

/** The same number of slots for each key. */
export class KeyedSlots {
  readonly #count: number;
  readonly #slots = new Map<string, { slots: Slots; users: number }>();

  constructor(count: number) {
    this.#count = count;
  }

  /** How many wait for a slot. */
  get waitingCount(): number {
    let count = 0;
    for (const { users } of this.#slots.values()) count += Math.max(0, users - this.#count);
    return count;
  }

  /** Runs the work when a slot of the key is free. */
  async run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const leave = await this.take(key);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /** Resolves when a slot of the key is free, which is then taken. Returns a function that frees it; it may be called again. */
  async take(key: string): Promise<() => void> {
    const entry = this.#slots.get(key) ?? { slots: new Slots(this.#count), users: 0 };
    this.#slots.set(key, entry);
    entry.users += 1;
    await entry.slots.take();
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      entry.slots.free();
      entry.users -= 1;
      if (entry.users === 0) this.#slots.delete(key);
    };
  }
}
