/** Work in the event loop that takes longer than one turn of it should. */
import { setImmediate } from 'node:timers/promises';

/** Milliseconds after which other requests get their turn. */
const maxTurn = 5;

/** Lets other requests be handled between two pieces of work. */
export class Turn {
  #startedAt = performance.now();

  async yield(): Promise<void> {
    if (performance.now() - this.#startedAt < maxTurn) return;
    await setImmediate();
    this.#startedAt = performance.now();
  }
}
