/**
 * Counts the changes of each table, for caches. The only process that writes to the database counts them at the moment of the write,
 * so that nothing that was read before a write is cached after it.
 */
/** Receives the changed table, or undefined if it is not known, and the parameters of the statement. */
export type ChangeListener = (table: string | undefined, values: readonly unknown[]) => void;

export class Changes {
  readonly #counts = new Map<string, number>();
  readonly #listeners = new Set<ChangeListener>();
  readonly #remoteListeners = new Set<ChangeListener>();
  #unknownTableCount = 0;

  /**
   * Counts a change of a table, or of all tables if it is not known which one.
   * @param values the parameters of the statement, including the IDs of the changed rows
   */
  count(table: string | undefined, values: readonly unknown[] = []): void {
    if (table === undefined) this.#unknownTableCount += 1;
    else this.#counts.set(table, (this.#counts.get(table) ?? 0) + 1);
    for (const listener of this.#listeners) listener(table, values);
  }

  /** Counts a change that another process has made. */
  countRemote(table: string | undefined, ids: readonly string[]): void {
    this.count(table, ids);
    for (const listener of this.#remoteListeners) listener(table, ids);
  }

  /** Calls `listener` when another process has changed a table, with the IDs that were part of the change, if known. */
  onRemoteChange(listener: ChangeListener): void {
    this.#remoteListeners.add(listener);
  }

  /**
   * Calls `listener` at each write, before it is committed, until the returned function is called. The listener must be quick and
   * must not throw; what it reads afterwards through the store is durable.
   */
  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A number that changes when one of the tables has changed. */
  versionOf(tables: readonly string[]): number {
    let sum = this.#unknownTableCount;
    for (const table of tables) sum += this.#counts.get(table) ?? 0;
    return sum;
  }
}
