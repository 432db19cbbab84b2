/**
 * What the service stores, and everything about storing that depends on the database or on the processes that use it. Nothing above
 * knows more than these interfaces. docs/architecture.md, "Durability", says what a second database would do instead.
 */
import type { Clock } from '../../base/clock.ts';
import { TokenCache, type Tokens } from './access/token-cache.ts';
import type { Store } from './database/database.ts';
import { fileCopies } from './database/sqlite/file-hold.ts';
import type { LogDamage } from './database/sqlite/log-damage.ts';
import { openDatabase } from './database/sqlite/open.ts';
import { type IdempotencyKeys, LocalIdempotencyKeys } from './idempotency/idempotency-keys.ts';
import type { IdempotencyBounds } from './idempotency/key-usage.ts';
import { reclaimJobs } from './jobs/jobs.ts';

export interface Storage {
  readonly store: Store;
  readonly tokens: Tokens;
  readonly keys: IdempotencyKeys;
  readonly copies: DatabaseCopies;
  /** Frees the jobs of processes that have ended, at `now` (milliseconds). Resolves to how many were in progress. */
  reclaim(now: number): Promise<number>;
}

/** Lets another process copy the database while this one continues to write to it. */
export interface DatabaseCopies {
  /** From now on, copies show the database of this moment. */
  hold(): Promise<void>;
  release(): Promise<void>;
}

export interface StorageOptions {
  clock: Clock;
  /** What each credential may store under idempotency keys. */
  bounds: IdempotencyBounds | undefined;
  /** Called when part of the write-ahead log could not be used. */
  onDamage: (damage: LogDamage) => void;
}

/** Opens the SQLite database of a data directory, which no other process can have open. Throws what `openDatabase` does. */
export async function openStorage(dataDirectory: string, { clock, bounds, onDamage }: StorageOptions): Promise<Storage> {
  const store = await openDatabase(dataDirectory, onDamage);
  return {
    store,
    tokens: new TokenCache(store),
    keys: new LocalIdempotencyKeys({ store, clock, bounds }),
    copies: fileCopies(store),
    // No other process has the database open, so every job in progress is one that a process before this left behind.
    reclaim: (now) => reclaimJobs(store, now),
  };
}
