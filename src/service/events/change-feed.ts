/**
 * Wakes streams that wait for a change in the database. It only signals that something might have changed; the change itself is
 * read afterwards through the store, which answers once it is durable.
 */
import type { Changes } from '../store/database/changes.ts';

/** The changes that a waker is interested in. */
export interface Topics {
  /** Any change of one of these tables. */
  readonly tables?: readonly string[];
  /** Changes of runs, messages, and human requests whose statement contains one of these IDs. */
  readonly ids?: readonly string[];
}

const tablesOfRuns: ReadonlySet<string> = new Set(['runs', 'messages', 'human_requests']);

export class ChangeFeed {
  readonly #changes: Pick<Changes, 'onChange'>;
  readonly #byTable = new Map<string, Set<Waker>>();
  readonly #byId = new Map<string, Set<Waker>>();
  readonly #all = new Set<Waker>();
  #stop: (() => void) | undefined;

  constructor(changes: Pick<Changes, 'onChange'>) {
    this.#changes = changes;
  }

  /** A waker for some topics. Close it when it is no longer needed. */
  waker({ tables = [], ids = [] }: Topics): Waker {
    this.#stop ??= this.#changes.onChange((table, values) => this.#onChange(table, values));
    const waker = new Waker(() => {
      for (const table of tables) remove(this.#byTable, table, waker);
      for (const id of ids) remove(this.#byId, id, waker);
      this.#all.delete(waker);
      if (this.#all.size > 0) return;
      this.#stop?.();
      this.#stop = undefined;
    });
    for (const table of tables) add(this.#byTable, table, waker);
    for (const id of ids) add(this.#byId, id, waker);
    this.#all.add(waker);
    return waker;
  }

  #onChange(table: string | undefined, values: readonly unknown[]): void {
    if (table === undefined) {
      for (const waker of this.#all) waker.wake();
      return;
    }
    for (const waker of this.#byTable.get(table) ?? []) waker.wake();
    if (this.#byId.size === 0 || !tablesOfRuns.has(table)) return;
    for (const value of values) if (typeof value === 'string') for (const waker of this.#byId.get(value) ?? []) waker.wake(value);
  }
}

export class Waker {
  readonly close: () => void;
  #isWoken = false;
  /** The IDs that were part of the changes; undefined if others may have changed as well. */
  #changedIds: Set<string> | undefined;
  #resume: (() => void) | undefined;

  constructor(close: () => void) {
    this.close = close;
  }

  /** @param id the ID of the topic that has changed; without it, everything may have */
  wake(id?: string): void {
    if (id === undefined) this.#changedIds = undefined;
    else this.#changedIds?.add(id);
    this.#isWoken = true;
    this.#resume?.();
  }

  /** Forgets earlier changes. Call it before reading, so that a change during the read ends the next wait. */
  reset(): void {
    this.#isWoken = false;
  }

  /** The IDs that have changed since the last call; undefined if any may have, as at first. */
  takeChangedIds(): ReadonlySet<string> | undefined {
    const ids = this.#changedIds;
    this.#changedIds = new Set();
    return ids;
  }

  /** Waits for a change since `reset`. Returns true if there was one, false if the time (milliseconds) has passed or the signal was aborted. */
  async next(signal: AbortSignal, milliseconds: number): Promise<boolean> {
    if (this.#isWoken || signal.aborted) return this.#isWoken;
    return new Promise((resolve) => {
      const settle = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', settle);
        this.#resume = undefined;
        resolve(this.#isWoken);
      };
      const timer = setTimeout(settle, milliseconds);
      signal.addEventListener('abort', settle, { once: true });
      this.#resume = settle;
    });
  }
}

function add(map: Map<string, Set<Waker>>, key: string, waker: Waker): void {
  const wakers = map.get(key);
  if (wakers === undefined) map.set(key, new Set([waker]));
  else wakers.add(waker);
}

function remove(map: Map<string, Set<Waker>>, key: string, waker: Waker): void {
  const wakers = map.get(key);
  wakers?.delete(waker);
  if (wakers?.size === 0) map.delete(key);
}
