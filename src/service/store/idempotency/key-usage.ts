/** How much each credential has stored under idempotency keys, counted as it changes. */
import type { Queries } from '../database/database.ts';
import { type RemovedKeys, type StoredUsage, storedUsage } from './key-rows.ts';

/** What each credential may store. Nothing is removed before its time: a full store refuses new keys. */
export interface IdempotencyBounds {
  readonly records: number;
  /** Length of the answers. */
  readonly bytes: number;
}

const defaultBounds: IdempotencyBounds = { records: 100_000, bytes: 128 * 1024 * 1024 };

export class KeyUsage {
  readonly #bounds: IdempotencyBounds;
  /** By credential. Only this process writes keys, so they are counted in the database once. */
  #usage: Map<string, StoredUsage> | undefined;

  constructor(bounds: IdempotencyBounds = defaultBounds) {
    this.#bounds = bounds;
  }

  /** Reads the figures from the database, the first time. @param now if specified, keys that have expired by then do not count */
  async load(db: Queries, now?: number): Promise<void> {
    if (this.#usage !== undefined) return;
    const usage = await storedUsage(db, now);
    // Another request may have been faster, and may have counted its record already.
    this.#usage ??= usage;
  }

  /** Counts a record that is to be stored; false when there is no capacity for it. */
  reserve(credentialId: string): boolean {
    const { records = 0, bytes = 0 } = this.#usage?.get(credentialId) ?? {};
    if (records >= this.#bounds.records || bytes >= this.#bounds.bytes) return false;
    this.add(credentialId, 1, 0);
    return true;
  }

  add(credentialId: string, records: number, bytes: number): void {
    const before = this.#usage?.get(credentialId) ?? { records: 0, bytes: 0 };
    this.#usage?.set(credentialId, { ...before, records: before.records + records, bytes: before.bytes + bytes });
  }

  /** When the first of a credential's records expires that were in the database, in milliseconds. */
  firstExpiry(credentialId: string): number {
    return this.#usage?.get(credentialId)?.firstExpiry ?? Number.POSITIVE_INFINITY;
  }

  remove(removedKeys: RemovedKeys): void {
    for (const { credential_id: id, size } of removedKeys) this.add(id, -1, -size);
  }
}
