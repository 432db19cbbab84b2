/**
 * What the service stores, and everything about storing that depends on the database or on the processes that use it. Nothing above
 * knows more than these interfaces. docs/architecture.md, "Durability", says what differs between databases.
 */
import type { Clock } from '../../base/clock.ts';
import type { RateWindows } from './access/rate-windows.ts';
import type { Tokens } from './access/token-cache.ts';
import type { DatabaseConnections } from './database/connections.ts';
import type { Store } from './database/database.ts';
import type { IdempotencyKeys } from './idempotency/idempotency-keys.ts';

/** An open database. Destroying its store closes everything. */
export interface Storage {
  readonly store: Store;
  readonly tokens: Tokens;
  readonly keys: IdempotencyKeys;
  /** Counts the requests of all processes; undefined if there is only this one. */
  readonly rateWindows?: RateWindows;
  readonly copies: DatabaseCopies;
  /** Frees the jobs of processes that have ended, at `now` (milliseconds). Resolves to how many were in progress. */
  reclaim(now: number): Promise<number>;
  /** The connections to a database that several processes use; undefined if there is only this one. */
  readonly connections?: DatabaseConnections;
  /** The clock that all processes on the database share; undefined if there is only this one. */
  readonly clock?: Clock;
  /** Converts an error of the start if its cause is a common one; returns other errors unchanged. */
  failure(error: unknown): unknown;
}

/** Lets another process copy the database while this one continues to write to it. */
export interface DatabaseCopies {
  /** From now on, copies show the database of this moment. */
  hold(): Promise<void>;
  release(): Promise<void>;
}
