/** How Kysely reaches the database: the driver of the whole store, and that of one unit of work (`Store.atomically`). */
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely';
import type { GroupCommit, OpenTransaction } from './group-commit.ts';
import { Lock } from './lock.ts';
import { kindOf } from './statements.ts';

/** The driver of the whole store. Each transaction, and each query outside of one, is independent. */
export const storeDriver = (commits: GroupCommit): Driver => ({
  init: async () => undefined,
  acquireConnection: async () => new Connection(commits, (query) => commits.runSingle(query)),
  releaseConnection: async () => undefined,
  async beginTransaction(connection) {
    (connection as Connection).transaction = await commits.begin();
  },
  commitTransaction: (connection) => commits.end(takeTransaction(connection)),
  async rollbackTransaction(connection) {
    // If the commit failed, there is nothing left to roll back.
    if ((connection as Connection).transaction !== undefined) await commits.rollBack(takeTransaction(connection));
  },
  destroy: () => commits.destroy(),
});

/**
 * Everything that is changed through the driver of a unit of work is one transaction; the transactions of that driver are parts of it.
 * It begins with the first of them, so that a caller can wait for a network before. From then on it holds the only connection until
 * it ends, so that a caller that has changed something must wait for nothing but this driver.
 */
export class UnitTransaction {
  readonly #commits: GroupCommit;
  /** One part or query of this unit at a time. */
  readonly #lock = new Lock();
  #transaction: OpenTransaction | undefined;
  #hasEnded = false;

  constructor(commits: GroupCommit) {
    this.#commits = commits;
  }

  driver(): Driver {
    return {
      init: async () => undefined,
      acquireConnection: async () => new Connection(this.#commits, (query) => this.#runSingle(query)),
      releaseConnection: async () => undefined,
      beginTransaction: async (connection) => {
        (connection as Connection).transaction = await this.#beginPart();
      },
      commitTransaction: async (connection) => this.#endPart(() => this.#commits.endPart(takeTransaction(connection))),
      rollbackTransaction: async (connection) => {
        if ((connection as Connection).transaction !== undefined)
          this.#endPart(() => this.#commits.rollBackPart(takeTransaction(connection)));
      },
      destroy: async () => undefined,
    };
  }

  /** Resolves when everything is on the disk, and rejects if nothing is. */
  async commit(): Promise<void> {
    const transaction = await this.#end();
    if (transaction !== undefined) await this.#commits.end(transaction);
  }

  async rollBack(): Promise<void> {
    const transaction = await this.#end();
    if (transaction !== undefined) await this.#commits.rollBack(transaction);
  }

  async #runSingle(query: CompiledQuery): Promise<QueryResult<never>> {
    await this.#enter();
    try {
      const isRead = kindOf(query.query) === 'read';
      if (this.#transaction === undefined && isRead) return await this.#commits.runSingle(query);
      return this.#commits.run(await this.#ensureTransaction(), query);
    } finally {
      this.#lock.release();
    }
  }

  async #beginPart(): Promise<OpenTransaction> {
    await this.#enter();
    try {
      const transaction = await this.#ensureTransaction();
      this.#commits.beginPart(transaction);
      return transaction;
    } catch (error) {
      this.#lock.release();
      throw error;
    }
  }

  #endPart(end: () => void): void {
    try {
      end();
    } finally {
      this.#lock.release();
    }
  }

  async #ensureTransaction(): Promise<OpenTransaction> {
    this.#transaction ??= await this.#commits.begin();
    return this.#transaction;
  }

  async #enter(): Promise<void> {
    const wait = this.#lock.acquire();
    if (wait !== undefined) await wait;
    if (!this.#hasEnded) return;
    this.#lock.release();
    throw new Error('This unit of work has ended.');
  }

  async #end(): Promise<OpenTransaction | undefined> {
    await this.#enter();
    this.#hasEnded = true;
    this.#lock.release();
    return this.#transaction;
  }
}

function takeTransaction(connection: DatabaseConnection): OpenTransaction {
  const { transaction } = connection as Connection;
  if (transaction === undefined) throw new Error('No transaction is in progress.');
  (connection as Connection).transaction = undefined;
  return transaction;
}

class Connection implements DatabaseConnection {
  readonly #commits: GroupCommit;
  readonly #runSingle: (query: CompiledQuery) => Promise<QueryResult<never>>;
  transaction: OpenTransaction | undefined;

  constructor(commits: GroupCommit, runSingle: (query: CompiledQuery) => Promise<QueryResult<never>>) {
    this.#commits = commits;
    this.#runSingle = runSingle;
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    return this.transaction === undefined ? this.#runSingle(query) : this.#commits.run(this.transaction, query);
  }

  // biome-ignore lint/correctness/useYield: nothing here is ever streamed
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('Queries are not streamed; page through them.');
  }
}
