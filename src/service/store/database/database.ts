/** The database as everything above sees it. */
import type { Kysely, Transaction } from 'kysely';
import type { Changes } from './changes.ts';
import type { Database } from './schema.ts';

/** What queries are executed on: the database, or the transaction that they are part of. */
export type Queries = Kysely<Database> | Transaction<Database>;

/** Several changes that are one: either all or none of them are on the disk. */
export interface UnitOfWork {
  /** Changes through this store are part of the unit. A caller that has changed something must wait only for this store until the end. */
  readonly store: Store;
  /** Calls `act` when everything is on the disk, and never if nothing is: for effects outside of the database. */
  afterCommit(act: () => void): void;
  /** Calls `undo` if nothing is on the disk: to take back effects outside of the database. It must not reject. */
  onRollback(undo: () => Promise<void>): void;
}

/** What happens at the ends of a unit of work. */
export interface UnitHooks {
  /**
   * The team for which the unit is. On a shared database, only some transactions for a team are in progress at a time: those that wait
   * for the same lock would otherwise use all connections, so that the steps of runs and other teams would have to wait as well.
   */
  readonly teamId?: string;
  /** Runs queries at the beginning of the transaction. If it rejects, so do all changes. */
  begin?(queries: Queries): Promise<void>;
  /** Finds out whether a transaction was committed although its commit failed with this error, as when the connection was lost. */
  wasCommitted?(error: unknown): Promise<boolean>;
}

/** The database as a whole. A transaction resolves when it is durable, and a query when everything that it shows is. */
export type Store = Kysely<Database> & {
  readonly changes: Changes;
  /**
   * Runs `work` as one transaction, which begins with its first change; reads before that are not part of it. Resolves when everything
   * is durable. When `work` rejects, or its changes cannot be committed, nothing of it remains.
   */
  atomically<Result>(work: (unit: UnitOfWork) => Promise<Result>, hooks?: UnitHooks): Promise<Result>;
  /**
   * Reads what may take long, for a team. On a shared database, only some reads of a team are in progress at a time, so that there are
   * connections left for everything else.
   */
  readSlowly<Result>(teamId: string, read: () => Promise<Result>): Promise<Result>;
};
