/**
 * Transactions on a pool of connections to Postgres, at the level READ COMMITTED: every statement sees what was committed before it.
 * Changes are counted, and others are notified, after the commit. Statements whose result nobody needs, such as locks, are sent together
 * with the next one: most of the time of a transaction, and of its locks, passes between statements.
 */
import type { CompiledQuery, QueryResult } from 'kysely';
import type { Pool, PoolClient, QueryResult as PostgresResult } from 'pg';
import { KeyedSlots } from '../../../../base/slots.ts';
import type { ChangeListener } from '../changes.ts';
import type { Transactions } from '../execution/drivers.ts';
import { changedTable } from '../execution/kinds.ts';
import type { HintedQuery } from '../prepared.ts';
import { withoutNul } from '../stored-values.ts';
import { DatabaseUnavailableError, LostCommitError } from '../unavailable.ts';
import { connectError, isAfterFailure, isConflict, isOutdatedPlan, queryError, wasSacrificed } from './errors.ts';
import { flush, hold, streamOf } from './held-writes.ts';
import { isReadOnly, noResult, resultOf } from './results.ts';

/** How often a statement is executed that the database ends in favour of a transaction. */
const maxAttempts = 5;

/** How many of the connections the transactions for one team use at most (`UnitHooks.teamId`). */
const maxTeamShare = 0.4;

/** A change of a transaction, which counts once it is committed. */
interface Change {
  readonly table: string | undefined;
  readonly values: readonly unknown[];
}

/** What is sent to the database: a query, or a command that controls the transaction. */
type Statement = HintedQuery | string;

export interface OpenTransaction {
  client: PoolClient;
  readonly changes: Change[];
  /** The length of `changes` at the beginning of the latest part. A part ends before the next one begins. */
  partStart: number;
  /** The answers to statements that nobody has waited for yet, in the order in which they were sent. */
  sent: Promise<unknown>[];
  /** What was sent before the first answer: if the connection turns out to have ended, it is sent on another one. */
  beginning: Statement[] | undefined;
  /** The first answer, while it is waited for. */
  opening: Promise<unknown> | undefined;
  /** The first error, unless it belongs to a part that was taken back. */
  failure: unknown;
  /** Whether there is no connection any more. */
  isLost: boolean;
  /** Lets the next transaction for the same team begin. */
  readonly leave: () => void;
}

export class PostgresTransactions implements Transactions<OpenTransaction> {
  readonly #pool: Pool;
  readonly #onChange: ChangeListener;
  /** The transactions for each team that are in progress. */
  readonly #turns: KeyedSlots;
  readonly #names = new Map<string, string>();
  /** Connections of earlier generations have prepared statements for tables as they were before. */
  readonly #generations = new WeakMap<PoolClient, number>();
  #generation = 0;

  /** @param onChange is called for each change after its commit, before the caller learns of it */
  constructor(pool: Pool, onChange: ChangeListener) {
    this.#pool = pool;
    this.#turns = new KeyedSlots(Math.max(1, Math.floor(pool.options.max * maxTeamShare)));
    this.#onChange = onChange;
  }

  /** How many transactions wait for others of their team. */
  get waitingCount(): number {
    return this.#turns.waitingCount;
  }

  async runSingle(query: CompiledQuery): Promise<QueryResult<never>> {
    const isRead = isReadOnly(query);
    for (let attempt = 1; ; attempt++) {
      const client = await this.#connect();
      try {
        const result = await this.#execute(client, query);
        client.release();
        if (!isRead) this.#onChange(changedTable(query.query), query.parameters);
        return result;
      } catch (error) {
        client.release(error instanceof DatabaseUnavailableError);
        // A connection that was idle may have ended without notice; a read can be repeated.
        const isRepeatable = isOutdatedPlan(error) || (isRead && error instanceof DatabaseUnavailableError);
        if (!(isRepeatable && attempt === 1) && !(wasSacrificed(error) && attempt < maxAttempts)) throw error;
      }
    }
  }

  async begin(teamId?: string): Promise<OpenTransaction> {
    const leave = teamId === undefined ? () => undefined : await this.#turns.take(teamId);
    const client = await this.#connect().catch((error: unknown) => {
      leave();
      throw error;
    });
    const transaction: OpenTransaction = {
      client,
      changes: [],
      partStart: 0,
      sent: [],
      beginning: [],
      opening: undefined,
      failure: undefined,
      isLost: false,
      leave,
    };
    this.#send(transaction, 'begin');
    return transaction;
  }

  run(transaction: OpenTransaction, query: HintedQuery): QueryResult<never> | Promise<QueryResult<never>> {
    if (!isReadOnly(query)) transaction.changes.push({ table: changedTable(query.query), values: query.parameters });
    if (query.isSent !== true) return this.#answer(transaction, query);
    this.#send(transaction, query);
    return noResult;
  }

  /** @throws LostCommitError if the connection ended before the database answered */
  async end(transaction: OpenTransaction): Promise<void> {
    try {
      await this.#commit(transaction);
    } finally {
      transaction.leave();
    }
  }

  async #commit(transaction: OpenTransaction): Promise<void> {
    // Only what was sent before the first answer can be sent again; a commit cannot.
    if (transaction.beginning !== undefined) await this.#answerBeginning(transaction);
    const { client, changes } = transaction;
    let answer: PostgresResult | undefined;
    try {
      answer = await this.#answerOnce(transaction, 'commit');
    } catch (error) {
      // After an error of an earlier statement, Postgres rolls back. Without an answer, it may have committed.
      client.release(error instanceof DatabaseUnavailableError);
      throw error instanceof DatabaseUnavailableError ? new LostCommitError(error.cause) : error;
    }
    client.release();
    // Postgres answers so when a statement has failed and the caller has ignored that.
    if (answer?.command === 'ROLLBACK') throw new Error('The transaction was rolled back because one of its statements had failed.');
    for (const { table, values } of changes) this.#onChange(table, values);
  }

  async rollBack(transaction: OpenTransaction): Promise<void> {
    const { client, isLost, leave } = transaction;
    try {
      if (isLost) return;
      await Promise.allSettled(transaction.sent.splice(0));
      await this.#answerOnce(transaction, 'rollback');
      client.release();
    } catch {
      // Without its connection, nothing of the transaction remains.
      client.release(true);
    } finally {
      leave();
    }
  }

  beginPart(transaction: OpenTransaction): void {
    this.#send(transaction, 'savepoint part');
    transaction.partStart = transaction.changes.length;
  }

  async endPart(transaction: OpenTransaction): Promise<void> {
    // An error is that of the part, which can be repeated alone.
    if (transaction.sent.length > 0) await this.#endWithAnswer(transaction);
    else this.#send(transaction, 'release savepoint part');
  }

  /** If a statement of the part has failed, nothing of the part remains. */
  async #endWithAnswer(transaction: OpenTransaction): Promise<void> {
    try {
      await this.#answer(transaction, 'release savepoint part');
    } catch (error) {
      await this.rollBackPart(transaction);
      throw error;
    }
  }

  async rollBackPart(transaction: OpenTransaction): Promise<void> {
    transaction.changes.length = transaction.partStart;
    await Promise.allSettled(transaction.sent.splice(0));
    try {
      await this.#answerOnce(transaction, 'rollback to savepoint part; release savepoint part');
    } catch (error) {
      // Without the savepoint, an earlier statement has failed.
      throw transaction.failure ?? error;
    }
    transaction.failure = undefined;
  }

  isRepeatable(error: unknown): boolean {
    return isConflict(error) || isOutdatedPlan(error);
  }

  async #connect(): Promise<PoolClient> {
    for (;;) {
      const client = await this.#pool.connect().catch((error: unknown) => {
        throw connectError(error);
      });
      const generation = this.#generations.get(client) ?? this.#generation;
      this.#generations.set(client, generation);
      if (generation === this.#generation) return client;
      client.release(true);
    }
  }

  /** Sends a statement without waiting for its answer. Its error is that of the next statement that is waited for. */
  #send(transaction: OpenTransaction, statement: Statement): void {
    transaction.beginning?.push(statement);
    hold(streamOf(transaction.client));
    const answer = this.#submit(transaction.client, statement);
    answer.catch((error: unknown) => {
      transaction.failure ??= error;
    });
    transaction.sent.push(answer);
  }

  /**
   * Waits for the answer to a statement, and to all that were sent before it; without a statement, only to these. If the connection had
   * ended before the transaction began, another one is used.
   */
  async #answer(transaction: OpenTransaction, statement: Statement | undefined): Promise<QueryResult<never>> {
    const { beginning, opening } = transaction;
    const answer =
      beginning === undefined ? this.#answerOnce(transaction, statement) : this.#answerFirst(transaction, statement, beginning);
    try {
      const result = await answer;
      return result === undefined ? noResult : resultOf(result);
    } catch (error) {
      if (opening === undefined || !(error instanceof DatabaseUnavailableError)) throw error;
      // It was sent while the first answer was waited for, which may come from another connection.
      await opening;
      return resultOf((await this.#answerOnce(transaction, statement)) as PostgresResult);
    }
  }

  #answerFirst(
    transaction: OpenTransaction,
    statement: Statement | undefined,
    beginning: readonly Statement[],
  ): Promise<PostgresResult | undefined> {
    const answer = this.#answerOnce(transaction, statement).catch(async (error: unknown) => {
      if (!(error instanceof DatabaseUnavailableError)) throw error;
      transaction.client.release(true);
      transaction.isLost = true;
      transaction.client = await this.#connect();
      Object.assign(transaction, { isLost: false, failure: undefined });
      for (const each of beginning) this.#send(transaction, each);
      return this.#answerOnce(transaction, statement);
    });
    transaction.opening = answer;
    const onAnswer = (): void => {
      transaction.opening = undefined;
    };
    answer.then(onAnswer, onAnswer);
    return answer;
  }

  /** Waits for all that was sent. If it fails, nothing of the transaction remains. */
  async #answerBeginning(transaction: OpenTransaction): Promise<void> {
    try {
      await this.#answer(transaction, undefined);
    } catch (error) {
      await this.rollBack(transaction);
      throw error;
    }
  }

  async #answerOnce(transaction: OpenTransaction, statement: Statement | undefined): Promise<PostgresResult | undefined> {
    const sent = transaction.sent.splice(0);
    transaction.beginning = undefined;
    const stream = streamOf(transaction.client);
    hold(stream);
    const answers = statement === undefined ? sent : [...sent, this.#submit(transaction.client, statement)];
    // Other statements may be sent at the same moment.
    queueMicrotask(() => flush(stream));
    try {
      // The first one to fail is the first that was sent.
      const results = await Promise.all(answers);
      return statement === undefined ? undefined : (results.at(-1) as PostgresResult);
    } catch (error) {
      transaction.failure ??= error;
      // The connection is not released before it has answered everything.
      await Promise.allSettled(answers);
      // What is executed at the same time can be the first to report that the transaction has failed.
      throw isAfterFailure(error) ? transaction.failure : error;
    }
  }

  async #execute(client: PoolClient, query: HintedQuery): Promise<QueryResult<never>> {
    return resultOf(await this.#submit(client, query));
  }

  async #submit(client: PoolClient, statement: Statement): Promise<PostgresResult> {
    try {
      if (typeof statement === 'string') return await client.query(statement);
      const { sql: text, parameters, isPrepared } = statement;
      const name = isPrepared === true ? this.#nameOf(text) : undefined;
      return await client.query({ text, values: parameters.map(withoutNul), ...(name === undefined ? {} : { name }) });
    } catch (error) {
      // Other connections have prepared statements for the same tables.
      if (isOutdatedPlan(error) && this.#generations.get(client) === this.#generation) this.#generation += 1;
      throw queryError(error);
    }
  }

  /** The name of a statement that each connection prepares when it first executes it. */
  #nameOf(text: string): string {
    const name = this.#names.get(text) ?? `q${this.#names.size + 1}`;
    this.#names.set(text, name);
    return name;
  }
}
