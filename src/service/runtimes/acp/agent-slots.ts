/** Limits how many agents run at the same time: each needs hundreds of MiB of memory. */
import { availableParallelism, totalmem } from 'node:os';
import { orAborted } from '../../../base/abort.ts';
import { deferred } from '../../../base/deferred.ts';

/** The memory of one agent in bytes. Measurements ranged from 280 to 610 MiB. */
const agentMemory = 600 * 1024 * 1024;

/** How many agents this machine can run: as many as fit into half of its memory, and at most 4 per processor. */
export const defaultConcurrency = (): number => Math.max(1, Math.min(4 * availableParallelism(), Math.floor(totalmem() / 2 / agentMemory)));

export class AgentSlots {
  readonly #limit: number;
  readonly #evict: () => boolean;
  readonly #holders = new Set<string>();
  #change = deferred();

  /** @param evict ends an agent that is only waiting; returns false if no agent is waiting */
  constructor(limit: number, evict: () => boolean) {
    this.#limit = limit;
    this.#evict = evict;
  }

  /** Waits until an agent can be started for the run. Rejects with the signal's reason. */
  async acquire(runId: string, signal: AbortSignal): Promise<void> {
    while (!this.#holders.has(runId) && this.#holders.size >= this.#limit) {
      this.#evict();
      await orAborted(this.#change.promise, signal);
    }
    this.#holders.add(runId);
  }

  release(runId: string): void {
    this.#holders.delete(runId);
    this.#change.resolve();
    this.#change = deferred();
  }
}
