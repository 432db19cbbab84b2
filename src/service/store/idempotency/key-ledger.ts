/**
 * Idempotency keys on their way into the database. A key is written with the first commit after it was claimed, and its answer
 * with the first after that was given: mostly the same one, together with what was done for the request. So what was done is
 * never kept without the key that it was done under, at the price of one row and not of three statements.
 */
import { errorFields, type Log } from '../../log.ts';
import type { Store } from '../database/database.ts';
import type { RunQuery } from '../database/group-commit.ts';
import { type HeldKey, type KeptAnswer, keepKeys, releaseKey } from './idempotency.ts';

/** A key with the moment from which on what failed to reach the disk may be its own (`Durability`). */
export interface LedgerKey extends HeldKey {
  readonly mark: number;
}

export class KeyLedger {
  readonly #store: Store;
  readonly #log: Log;
  readonly #pending = new Set<LedgerKey>();
  /** Those of which a row without an answer was written. */
  readonly #written = new WeakSet<LedgerKey>();

  /** @param store the early one: who claims a key waits for the disk before telling of what was done */
  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
    store.durability.beforeCommit((run) => this.#write(run));
  }

  /** Keeps that a request holds a key. Throws when nothing is written any more. */
  claim(key: LedgerKey): void {
    this.#store.durability.commitSoon();
    this.#pending.add(key);
  }

  /** Keeps the answer of a request. Throws when nothing is written any more. */
  answer(key: LedgerKey, answer: KeptAnswer): void {
    key.answer = answer;
    this.claim(key);
  }

  /** Forgets a key, so that a retry executes. */
  async release(key: LedgerKey): Promise<void> {
    this.#pending.delete(key);
    if (this.#written.has(key)) await releaseKey(this.#store, key);
  }

  #write(run: RunQuery): void {
    if (this.#pending.size === 0) return;
    const { durability } = this.#store;
    // What was done may be lost; its answer must not outlive it.
    const keys = [...this.#pending].filter((key) => key.answer === undefined || !durability.hasFailed(key.mark));
    this.#pending.clear();
    this.#keep(run, keys);
    for (const key of keys) if (key.answer === undefined) this.#written.add(key);
  }

  #keep(run: RunQuery, keys: readonly LedgerKey[]): void {
    for (const { query, of } of keepKeys(this.#store, keys)) {
      try {
        run(query);
      } catch (error) {
        if (!isConstraint(error)) throw error;
        // The fault of one, as when its credential is gone, is not that of the others.
        if (of.length > 1) for (const key of of) this.#keep(run, [key]);
        else this.#log('error', 'an idempotency key could not be kept', { request: of[0]?.requestId ?? '', ...errorFields(error) });
      }
    }
  }
}

const isConstraint = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_CONSTRAINT');
