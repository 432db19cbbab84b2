/** How queries reach the database: from the whole store, and from one unit of work (`Store.atomically`). */
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely';
import type { Access, OpenPart } from './access.ts';
import { kindOf } from './kinds.ts';
import { Lock } from './lock.ts';

/** How a database executes queries and transactions. `Open` is one of its transactions in progress. */
export interface Transactions<Open> {
  /** Runs a query that is not part of a transaction. */
  runSingle(query: CompiledQuery): Promise<QueryResult<never>>;
  /** @param teamId see `UnitHooks` */
  begin(teamId?: string): Promise<Open>;
  run(transaction: Open, query: CompiledQuery): QueryResult<never> | Promise<QueryResult<never>>;
  /** Resolves when the transaction, and everything that it has read, is durable; rejects if nothing of it remains. */
  end(transaction: Open): Promise<void>;
  rollBack(transaction: Open): Promise<void>;
  /** Begins a part that can be taken back alone. It ends before the next one begins. */
  beginPart(transaction: Open): void | Promise<void>;
  endPart(transaction: Open): void | Promise<void>;
  rollBackPart(transaction: Open): void | Promise<void>;
  /** See `Access`. */
  isRepeatable?(error: unknown): boolean;
}

/** How the whole store is accessed. Each transaction, and each query outside of one, is independent. */
export const storeAccess = <Open>(transactions: Transactions<Open>): Access => ({
  runSingle: (query) => transactions.runSingle(query),
  async begin() {
    const transaction = await transactions.begin();
    return {
      run: (query) => transactions.run(transaction, query),
      commit: () => transactions.end(transaction),
      rollBack: () => transactions.rollBack(transaction),
    };
  },
  isRepeatable: (error) => transactions.isRepeatable?.(error) === true,
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

/** Runs a query in a transaction. */
export type QueryRunner = (query: CompiledQuery) => Promise<QueryResult<never>>;

/**
 * Everything that is changed through a unit of work is one transaction; the transactions of the unit are parts of it.
 * It begins with the first of them, so that a caller can wait for a network before. From then on it holds a connection until it ends
 * (the only one of SQLite), so that a caller that has changed something must wait for nothing but this unit.
 */
export class UnitTransaction<Open> {
  readonly #transactions: Transactions<Open>;
  readonly #onBegin: (run: QueryRunner) => Promise<void>;
  readonly #teamId: string | undefined;
  /** One part or query of this unit at a time. */
  readonly #lock = new Lock();
  #transaction: Open | undefined;
  /** Why the transaction could not begin; every later change fails as well. */
  #refusal: { readonly error: unknown } | undefined;
  #hasEnded = false;

  /** @param onBegin runs queries at the beginning of the transaction; if it rejects, so does the first change */
  constructor(transactions: Transactions<Open>, onBegin: (run: QueryRunner) => Promise<void>, teamId?: string) {
    this.#transactions = transactions;
    this.#onBegin = onBegin;
    this.#teamId = teamId;
  }

  access(): Access {
    return {
      runSingle: (query) => this.#runSingle(query),
      begin: () => this.#beginPart(),
      isRepeatable: (error) => this.#transactions.isRepeatable?.(error) === true,
    };
  }

  /** Resolves when everything is on the disk, and rejects if nothing is. */
  async commit(): Promise<void> {
    const transaction = await this.#end();
    if (transaction !== undefined) await this.#transactions.end(transaction);
  }

  async rollBack(): Promise<void> {
    const transaction = await this.#end();
    if (transaction !== undefined) await this.#transactions.rollBack(transaction);
  }

  async #runSingle(query: CompiledQuery): Promise<QueryResult<never>> {
    await this.#enter();
    try {
      const isRead = kindOf(query.query) === 'read';
      if (this.#transaction === undefined && isRead) return await this.#transactions.runSingle(query);
      return await this.#transactions.run(await this.#ensureTransaction(), query);
    } finally {
      this.#lock.release();
    }
  }

  async #beginPart(): Promise<OpenPart> {
    await this.#enter();
    try {
      const transaction = await this.#ensureTransaction();
      await this.#transactions.beginPart(transaction);
      return {
        run: (query) => this.#transactions.run(transaction, query),
        commit: () => this.#endPart(() => this.#transactions.endPart(transaction)),
        rollBack: () => this.#endPart(() => this.#transactions.rollBackPart(transaction)),
      };
    } catch (error) {
      this.#lock.release();
      throw error;
    }
  }

  async #endPart(end: () => void | Promise<void>): Promise<void> {
    try {
      await end();
    } finally {
      this.#lock.release();
    }
  }

  async #ensureTransaction(): Promise<Open> {
    if (this.#transaction !== undefined) return this.#transaction;
    if (this.#refusal !== undefined) throw this.#refusal.error;
    const transaction = await this.#transactions.begin(this.#teamId);
    try {
      await this.#onBegin(async (query) => this.#transactions.run(transaction, query));
    } catch (error) {
      this.#refusal = { error };
      await this.#transactions.rollBack(transaction);
      throw error;
    }
    this.#transaction = transaction;
    return transaction;
  }

  async #enter(): Promise<void> {
    const wait = this.#lock.acquire();
    if (wait !== undefined) await wait;
    if (!this.#hasEnded) return;
    this.#lock.release();
    throw new Error('This unit of work has ended.');
  }

  async #end(): Promise<Open | undefined> {
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
