/**
 * Kysely over a database that executes queries and transactions itself, without Kysely's machinery for pools: to acquire a connection
 * for each query, and to queue the queries of a transaction, takes longer than a simple query of SQLite does.
 */
import {
  type CompiledQuery,
  DefaultConnectionProvider,
  DefaultQueryExecutor,
  type Dialect,
  type DialectAdapter,
  type Driver,
  Kysely,
  type KyselyProps,
  type QueryCompiler,
  type QueryResult,
  Transaction,
  TransactionBuilder,
} from 'kysely';
import { systemClock } from '../../../../base/clock.ts';
import { writeAtEnd } from '../at-end.ts';
import { Changes } from '../changes.ts';
import type { Database } from '../schema.ts';
import { changedTable, kindOf } from './kinds.ts';

/** A transaction in progress, or a part of a unit of work. It ends once. */
export interface OpenPart {
  run(query: CompiledQuery): QueryResult<never> | Promise<QueryResult<never>>;
  /** Rejects if nothing of it remains. */
  commit(): Promise<void>;
  rollBack(): Promise<void>;
}

/** How queries and transactions are executed. */
export interface Access {
  /** Runs a query that is not part of a transaction. */
  runSingle(query: CompiledQuery): Promise<QueryResult<never>>;
  begin(): Promise<OpenPart>;
  /** Whether a transaction that failed with this error has left nothing behind, and may be executed again. */
  isRepeatable?(error: unknown): boolean;
}

/** What a database and the units of work on it share. */
export interface Connected {
  /** Counts all changes of the database; undefined if other processes change it as well, so that nothing can be cached. */
  readonly changes: Changes | undefined;
  readonly dialect: Dialect;
  readonly compiler: QueryCompiler;
  readonly adapter: DialectAdapter;
  /** Closes the database, and runs what is not executed directly. */
  readonly driver: Driver;
}

/** Executes queries immediately. Everything else, such as compiling them, is Kysely's. */
class DirectExecutor extends DefaultQueryExecutor {
  /** For cached queries. */
  readonly changes: Changes | undefined;
  /** The changes of this transaction alone, for what it has learned. Undefined if `changes` counts them. */
  readonly ownChanges: Changes | undefined;
  /** Executes a query, without a promise where the database needs none: for prepared queries, for which each promise counts. */
  readonly run: OpenPart['run'];

  constructor({ changes, compiler, adapter, driver }: Connected, run: OpenPart['run'], ownChanges?: Changes) {
    super(compiler, adapter, new DefaultConnectionProvider(driver));
    this.changes = changes;
    this.ownChanges = ownChanges;
    this.run = run;
  }

  override async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    return this.run(query);
  }
}

/** A database, or a unit of work, whose queries and transactions are executed directly. */
export class DirectDatabase extends Kysely<Database> {
  readonly #transactions: DirectTransactions;

  constructor(access: Access, connected: Connected) {
    const { dialect, driver } = connected;
    const executor = new DirectExecutor(connected, (query) => access.runSingle(query));
    const props: KyselyProps = { config: { dialect }, dialect, driver, executor };
    super(props);
    this.#transactions = new DirectTransactions(props, access, connected);
  }

  override transaction(): TransactionBuilder<Database> {
    return this.#transactions;
  }
}

/** How often a transaction is executed that the database ends in favour of another one. */
const maxAttempts = 12;

/**
 * Milliseconds before a transaction is executed again: at first none, then growing, and random. Otherwise one that many others are in the
 * way of could lose against each of them.
 */
const pauseAfter = (attempt: number): number => (attempt === 1 ? 0 : Math.random() * Math.min(2 ** attempt, 250));

class DirectTransactions extends TransactionBuilder<Database> {
  readonly #props: KyselyProps;
  readonly #access: Access;
  readonly #connected: Connected;

  constructor(props: KyselyProps, access: Access, connected: Connected) {
    super(props);
    this.#props = props;
    this.#access = access;
    this.#connected = connected;
  }

  override async execute<Result>(work: (trx: Transaction<Database>) => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(work);
      } catch (error) {
        if (attempt >= maxAttempts || this.#access.isRepeatable?.(error) !== true) throw error;
      }
      const pause = pauseAfter(attempt);
      if (pause > 0) await systemClock.sleep(pause);
    }
  }

  async #attempt<Result>(work: (trx: Transaction<Database>) => Promise<Result>): Promise<Result> {
    const part = await this.#access.begin();
    let hasEnded = false;
    const ownChanges = this.#connected.changes === undefined ? new Changes() : undefined;
    const run: OpenPart['run'] = (query) => {
      if (hasEnded) throw new Error('This transaction has ended.');
      if (ownChanges !== undefined && kindOf(query.query) !== 'read') ownChanges.count(changedTable(query.query));
      return part.run(query);
    };
    const executor = new DirectExecutor(this.#connected, run, ownChanges);
    let result: Result;
    try {
      const trx = new Transaction<Database>({ ...this.#props, executor });
      result = await work(trx);
      await writeAtEnd(trx);
    } catch (error) {
      hasEnded = true;
      await part.rollBack();
      throw error;
    }
    hasEnded = true;
    await part.commit();
    return result;
  }
}
