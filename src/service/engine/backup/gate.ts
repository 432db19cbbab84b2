/** A passage that can be closed for a while: who is inside comes to an end, and who comes meanwhile waits. */
import { orAborted } from '../../../base/abort.ts';
import { deferred } from '../../../base/deferred.ts';

type Deferred = ReturnType<typeof deferred>;

export class Gate {
  #inside = 0;
  /** Resolves when it is opened again; undefined while it is open. */
  #closed: Deferred | undefined;
  /** Resolves when nobody is inside. */
  #emptied: Deferred | undefined;

  /** Does the work inside. A signal ends the wait for the gate, and not the work. @throws the signal's reason */
  async pass<Value>(signal: AbortSignal | undefined, work: () => Promise<Value>): Promise<Value> {
    while (this.#closed !== undefined) await (signal === undefined ? this.#closed.promise : orAborted(this.#closed.promise, signal));
    this.#inside += 1;
    try {
      return await work();
    } finally {
      this.#inside -= 1;
      if (this.#inside === 0) this.#emptied?.resolve();
    }
  }

  /** Lets nobody in from now on, and resolves when nobody is inside. */
  async close(): Promise<void> {
    this.#closed ??= deferred();
    if (this.#inside === 0) return;
    this.#emptied ??= deferred();
    await this.#emptied.promise;
    this.#emptied = undefined;
  }

  open(): void {
    this.#closed?.resolve();
    this.#closed = undefined;
  }
}
