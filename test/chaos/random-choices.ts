/** Decisions of the suite, which are the same for the same seed. */
import { randomFrom } from '../support/random.ts';

export class RandomChoices {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = randomFrom(seed);
  }

  /** A whole number from `from` up to `to`. */
  between(from: number, to: number): number {
    return from + Math.floor(this.#random() * (to - from + 1));
  }

  chance(probability: number): boolean {
    return this.#random() < probability;
  }

  one<Value>(values: readonly Value[]): Value {
    return values[this.between(0, values.length - 1)] as Value;
  }

  /** The same values in another order. */
  shuffled<Value>(values: readonly Value[]): Value[] {
    const result = [...values];
    for (let index = result.length - 1; index > 0; index--) {
      const other = this.between(0, index);
      [result[index], result[other]] = [result[other] as Value, result[index] as Value];
    }
    return result;
  }
}
