/** The time that the service takes from its machine or its database, and what it was made to skip. */
import type { Cluster } from './cluster.ts';
import type { Skipped } from './observation.ts';

export class ServiceClock {
  readonly skipped: Skipped[] = [];
  readonly #cluster: Cluster;
  #offset: number;
  #maxOffset: number;

  /** @param offset milliseconds by which the clock is ahead at first */
  constructor(cluster: Cluster, offset: number) {
    this.#cluster = cluster;
    this.#offset = offset;
    this.#maxOffset = offset;
  }

  now(): number {
    return Date.now() + this.#offset;
  }

  /** Sets the clock by this many milliseconds, forward or back. */
  async jump(milliseconds: number): Promise<void> {
    const from = this.now();
    this.#offset += milliseconds;
    this.#maxOffset = Math.max(this.#maxOffset, this.#offset);
    await this.#cluster.setClock(this.#offset);
    if (milliseconds > 0) this.skipped.push({ from, to: this.now() });
  }

  /** Sets the clock to the latest time that it has shown: what is due at such a time would otherwise wait for it. */
  async catchUp(): Promise<void> {
    if (this.#maxOffset > this.#offset) await this.jump(this.#maxOffset - this.#offset);
  }
}
