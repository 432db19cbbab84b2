/** How far the load is. Faults are injected at certain points of it, and the load does not run ahead of them. */

export class Progress {
  readonly #total: number;
  #done = 0;
  #bound = 0;
  #waiting: { condition: () => boolean; resolve: () => void }[] = [];

  /** @param total how many items there are */
  constructor(total: number) {
    this.#total = total;
  }

  /** Notes that an item was done. */
  add(): void {
    this.#done += 1;
    this.#check();
  }

  /** Resolves when a part of the load was done. @param part from 0 to 1 */
  reached(part: number): Promise<void> {
    return this.#until(() => this.#done >= Math.floor(part * this.#total));
  }

  /** Lets the load continue until this part of it. @param part from 0 to 1 */
  allow(part: number): void {
    this.#bound = Math.ceil(part * this.#total);
    this.#check();
  }

  /** Resolves when the next item may begin. */
  mayContinue(): Promise<void> {
    return this.#until(() => this.#done < this.#bound);
  }

  #until(condition: () => boolean): Promise<void> {
    if (condition()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push({ condition, resolve });
    });
  }

  #check(): void {
    const ready = this.#waiting.filter(({ condition }) => condition());
    this.#waiting = this.#waiting.filter((one) => !ready.includes(one));
    for (const { resolve } of ready) resolve();
  }
}
