/** A gate that can be closed for a while: work inside is finished, and later work waits. */
import { orAborted } from '../../../base/abort.ts';
import { deferred } from '../../../base/deferred.ts';

type Deferred = ReturnType<typeof deferred>;

export class Gate {
  #activeCount = 0;
  /** Resolves when the gate is opened again; undefined while it is open. */
  #opening: Deferred | undefined;
  /** Resolves when no work is inside. */
  #drain: Deferred | undefined;

  /** Does work inside the gate. A signal ends the wait for the gate, but not the work. @throws the reason of the signal */
  async run<Value>(signal: AbortSignal | undefined, work: () => Promise<Value>): Promise<Value> {
    while (this.#opening !== undefined) await (signal === undefined ? this.#opening.promise : orAborted(this.#opening.promise, signal));
    this.#activeCount += 1;
    try {
      return await work();
    } finally {
      this.#activeCount -= 1;
      if (this.#activeCount === 0) this.#drain?.resolve();
    }
  }

  /** Closes the gate, and resolves when no work is inside. */
  async close(): Promise<void> {
    this.#opening ??= deferred();
    if (this.#activeCount === 0) return;
    this.#drain ??= deferred();
    await this.#drain.promise;
    this.#drain = undefined;
  }

  open(): void {
    this.#opening?.resolve();
    this.#opening = undefined;
  }
}
