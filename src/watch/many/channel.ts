/** Merges what several producers yield at the same time into one sequence. Producers wait until their items are taken. */

interface Offer<Item> {
  item: Item;
  taken: () => void;
}

export class Channel<Item> {
  readonly #offers: Offer<Item>[] = [];
  #end: { error?: unknown } | undefined;
  #wake: () => void = () => undefined;

  /** Offers an item. Resolves when it has been taken, or when nothing is taken any more. */
  put(item: Item): Promise<void> {
    if (this.#end !== undefined) return Promise.resolve();
    return new Promise((resolve) => {
      this.#offers.push({ item, taken: resolve });
      this.#wake();
    });
  }

  /** Ends the sequence after the items that were offered before. */
  end(): void {
    this.#finish({});
  }

  /** Ends the sequence with an error, unless it has ended. */
  fail(error: unknown): void {
    this.#finish({ error });
  }

  #finish(end: { error?: unknown }): void {
    this.#end ??= end;
    this.#wake();
  }

  /** The items in the order in which they were offered. @throws the error that ended the sequence */
  async *items(): AsyncGenerator<Item, void, undefined> {
    try {
      for (;;) {
        const offer = this.#offers.shift();
        if (offer !== undefined) {
          // The producer may prepare its next item while the reader works on this one.
          offer.taken();
          yield offer.item;
        } else if (this.#end !== undefined) {
          if ('error' in this.#end) throw this.#end.error;
          return;
        } else
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
      }
    } finally {
      this.#end ??= {};
      for (const { taken } of this.#offers.splice(0)) taken();
    }
  }
}

/**
 * The items of several sequences as they come. All of them are read to their ends, even if one fails.
 * @throws the first error
 */
export async function* merged<Item>(sequences: readonly AsyncIterable<Item>[]): AsyncGenerator<Item, void, undefined> {
  const channel = new Channel<Item>();
  const ends = sequences.map(async (sequence) => {
    for await (const item of sequence) await channel.put(item);
  });
  void Promise.allSettled(ends).then((results) => {
    const failure = results.find((result) => result.status === 'rejected');
    if (failure === undefined) channel.end();
    else channel.fail(failure.reason);
  });
  yield* channel.items();
}
