/** Limits how many agents run at the same time: each needs hundreds of MiB of memory. */
import { availableParallelism, totalmem } from 'node:os';
import { orAborted } from '../../../base/abort.ts';
import { deferred } from '../../../base/deferred.ts';

/** Memory of one agent in bytes; 280 to 610 MiB were measured. */
const agentMemory = 600 * 1024 * 1024;

/** How many agents this machine can run: half of its memory, and at most 4 for each processor. */
export const defaultSeats = (): number => Math.max(1, Math.min(4 * availableParallelism(), Math.floor(totalmem() / 2 / agentMemory)));

export class Seats {
  readonly #limit: number;
  readonly #makeRoom: () => boolean;
  readonly #holders = new Set<string>();
  #change = deferred();

  /** @param makeRoom ends an agent that only waits; returns false if no agent is waiting */
  constructor(limit: number, makeRoom: () => boolean) {
    this.#limit = limit;
    this.#makeRoom = makeRoom;
  }

  /** Waits until an agent can be started for a run. Rejects with the signal's reason. */
  async take(runId: string, signal: AbortSignal): Promise<void> {
    while (!this.#holders.has(runId) && this.#holders.size >= this.#limit) {
      this.#makeRoom();
      await orAborted(this.#change.promise, signal);
    }
    this.#holders.add(runId);
  }

  give(runId: string): void {
    this.#holders.delete(runId);
    this.#change.resolve();
    this.#change = deferred();
  }
}
