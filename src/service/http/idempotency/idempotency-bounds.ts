/** How much each credential keeps under idempotency keys, counted as it changes. */
import type { Queries } from '../../store/database/database.ts';
import { type KeptUsage, keptUsage } from '../../store/idempotency/idempotency.ts';

/** What each credential may keep. What is kept is never given up before its time: a full store refuses new keys. */
export interface IdempotencyBounds {
  readonly records: number;
  /** Length of the responses. */
  readonly bytes: number;
}

const defaultBounds: IdempotencyBounds = { records: 100_000, bytes: 128 * 1024 * 1024 };

export class KeptKeys {
  readonly #bounds: IdempotencyBounds;
  /** By credential. This process alone writes them, so they are read from the database once. */
  #usage: Map<string, KeptUsage> | undefined;

  constructor(bounds: IdempotencyBounds = defaultBounds) {
    this.#bounds = bounds;
  }

  async load(db: Queries): Promise<void> {
    this.#usage ??= await keptUsage(db);
  }

  /** Reads the figures anew when they are next needed: a transaction that was counted has failed. */
  recount(): void {
    this.#usage = undefined;
  }

  /** Whether another record has room, as far as is known. */
  hasRoom(credentialId: string): boolean {
    return this.#usage !== undefined && !this.isFull(credentialId);
  }

  isFull(credentialId: string): boolean {
    const { records = 0, bytes = 0 } = this.#usage?.get(credentialId) ?? {};
    return records >= this.#bounds.records || bytes >= this.#bounds.bytes;
  }

  count(credentialId: string, records: number, bytes: number): void {
    const before = this.#usage?.get(credentialId) ?? { records: 0, bytes: 0 };
    this.#usage?.set(credentialId, { records: before.records + records, bytes: before.bytes + bytes });
  }

  forget(removed: readonly { credential_id: string; size: number }[]): void {
    for (const { credential_id: id, size } of removed) this.count(id, -1, -size);
  }
}
