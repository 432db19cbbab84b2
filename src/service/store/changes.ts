/**
 * Which tables have changed how often, for those who remember what they read. Counted by the one process that writes to the
 * database, at the moment of the write: what was read before it is not to be remembered after it.
 */
export class Changes {
  readonly #counts = new Map<string, number>();
  #everything = 0;

  /** Counts a change of a table; of all of them when it is not known which. */
  count(table: string | undefined): void {
    if (table === undefined) this.#everything += 1;
    else this.#counts.set(table, (this.#counts.get(table) ?? 0) + 1);
  }

  /** A number that is another one when one of the tables has changed. */
  of(tables: readonly string[]): number {
    let sum = this.#everything;
    for (const table of tables) sum += this.#counts.get(table) ?? 0;
    return sum;
  }

  /** The same for all tables but these. */
  except(tables: readonly string[]): number {
    let sum = this.#everything;
    for (const [table, count] of this.#counts) if (!tables.includes(table)) sum += count;
    return sum;
  }
}
