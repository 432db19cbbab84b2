/** How queries reach the database: from the whole store, and from one unit of work (`Store.atomically`). */
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely';
import type { Access, OpenPart } from './access.ts';
import type { GroupCommit, OpenTransaction } from './group-commit.ts';
import { Lock } from './lock.ts';
import { kindOf } from './statements.ts';

/** How the whole store is accessed. Each transaction, and each query outside of one, is independent. */
export const storeAccess = (commits: GroupCommit): Access => ({
  runSingle: (query) => commits.runSingle(query),
  async begin() {
    const transaction = await commits.begin();
    return {
      run: (query) => commits.run(transaction, query),
      commit: () => commits.end(transaction),
      rollBack: () => commits.rollBack(transaction),
    };
  },
});

/** Kysely's driver for an access, for what is not executed directly. */
export const driverOf = (access: Access, destroy: () => Promise<void>): Driver => ({
  init: async () => undefined,
  acquireConnection: async () => new Connection(access),
  releaseConnection: async () => undefined,
  async beginTransaction(connection) {
    (connection as Connection).part = await access.begin();
  },
  commitTransaction: (connection) => takePart(connection)?.commit() ?? noTransaction(),
  // If the commit failed, there is nothing left to roll back.
  rollbackTransaction: async (connection) => takePart(connection)?.rollBack(),
  destroy,
});

const noTransaction = async (): Promise<never> => Promise.reject(new Error('No transaction is in progress.'));

/**
 * Everything that is changed through a unit of work is one transaction; the transactions of the unit are parts of it.
 * It begins with the first of them, so that a caller can wait for a network before. From then on it holds the only connection until
 * it ends, so that a caller that has changed something must wait for nothing but this unit.
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

  access(): Access {
    return { runSingle: (query) => this.#runSingle(query), begin: () => this.#beginPart() };
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

  async #beginPart(): Promise<OpenPart> {
    await this.#enter();
    try {
      const transaction = await this.#ensureTransaction();
      this.#commits.beginPart(transaction);
      return {
        run: (query) => this.#commits.run(transaction, query),
        commit: async () => this.#endPart(() => this.#commits.endPart(transaction)),
        rollBack: async () => this.#endPart(() => this.#commits.rollBackPart(transaction)),
      };
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

function takePart(connection: DatabaseConnection): OpenPart | undefined {
  const { part } = connection as Connection;
  (connection as Connection).part = undefined;
  return part;
}

class Connection implements DatabaseConnection {
  readonly #access: Access;
  part: OpenPart | undefined;

  constructor(access: Access) {
    this.#access = access;
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    return this.part === undefined ? this.#access.runSingle(query) : this.part.run(query);
  }

  // biome-ignore lint/correctness/useYield: nothing here is ever streamed
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('Queries are not streamed; page through them.');
  }
}
