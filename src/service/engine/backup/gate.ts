/** A passage that can be closed for a while: who is inside comes to an end, and who comes meanwhile waits. */
import { orAborted } from '../../../base/abort.ts';

interface Settling {
  promise: Promise<void>;
  resolve: () => void;
}

export class Gate {
  #inside = 0;
  /** Resolves when it is opened again; undefined while it is open. */
  #closed: Settling | undefined;
  /** Resolves when nobody is inside. */
  #emptied: Settling | undefined;

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
    this.#closed ??= settling();
    if (this.#inside === 0) return;
    this.#emptied ??= settling();
    await this.#emptied.promise;
    this.#emptied = undefined;
  }

  open(): void {
    this.#closed?.resolve();
    this.#closed = undefined;
  }
}

function settling(): Settling {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
