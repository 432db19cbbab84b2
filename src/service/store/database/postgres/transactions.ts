/**
 * Transactions on a pool of connections to Postgres, at the level READ COMMITTED: every statement sees what was committed before it.
 * Changes are counted, and others are notified, after the commit.
 */
import type { CompiledQuery, QueryResult } from 'kysely';
import type { Pool, PoolClient, QueryResult as PostgresResult } from 'pg';
import type { ChangeListener } from '../changes.ts';
import type { Transactions } from '../execution/drivers.ts';
import { changedTable, kindOf } from '../execution/kinds.ts';
import type { HintedQuery } from '../prepared.ts';
import { withoutNul } from '../stored-values.ts';
import { DatabaseUnavailableError, LostCommitError } from '../unavailable.ts';
import { isConflict, isOutdatedPlan, queryError } from './errors.ts';

/** A change of a transaction, which counts once it is committed. */
interface Change {
  readonly table: string | undefined;
  readonly values: readonly unknown[];
}

export interface OpenTransaction {
  readonly client: PoolClient;
  readonly changes: Change[];
  /** The length of `changes` at the beginning of each part in progress. */
  readonly parts: number[];
}

export class PostgresTransactions implements Transactions<OpenTransaction> {
  readonly #pool: Pool;
  readonly #onChange: ChangeListener;
  readonly #names = new Map<string, string>();
  /** Connections of earlier generations have prepared statements for tables as they were before. */
  readonly #generations = new WeakMap<PoolClient, number>();
  #generation = 0;

  /** @param onChange is called for each change after its commit, before the caller learns of it */
  constructor(pool: Pool, onChange: ChangeListener) {
    this.#pool = pool;
    this.#onChange = onChange;
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
        if (!isRepeatable || attempt > 1) throw error;
      }
    }
  }

  async begin(): Promise<OpenTransaction> {
    for (let attempt = 1; ; attempt++) {
      const client = await this.#connect();
      try {
        await control(client, 'begin');
        return { client, changes: [], parts: [] };
      } catch (error) {
        client.release(true);
        if (attempt > 1) throw error;
      }
    }
  }

  async run({ client, changes }: OpenTransaction, query: CompiledQuery): Promise<QueryResult<never>> {
    const result = await this.#execute(client, query);
    if (!isReadOnly(query)) changes.push({ table: changedTable(query.query), values: query.parameters });
    return result;
  }

  /** @throws LostCommitError if the connection ended before the database answered */
  async end({ client, changes }: OpenTransaction): Promise<void> {
    let command: string;
    try {
      ({ command } = await control(client, 'commit'));
    } catch (error) {
      client.release(true);
      throw error instanceof DatabaseUnavailableError ? new LostCommitError(error.cause) : error;
    }
    client.release();
    // Postgres answers so when a statement has failed and the caller has ignored that.
    if (command === 'ROLLBACK') throw new Error('The transaction was rolled back because one of its statements had failed.');
    for (const { table, values } of changes) this.#onChange(table, values);
  }

  async rollBack({ client }: OpenTransaction): Promise<void> {
    try {
      await control(client, 'rollback');
      client.release();
    } catch {
      // Without its connection, nothing of the transaction remains.
      client.release(true);
    }
  }

  async beginPart({ client, changes, parts }: OpenTransaction): Promise<void> {
    await control(client, 'savepoint part');
    parts.push(changes.length);
  }

  async endPart({ client, parts }: OpenTransaction): Promise<void> {
    await control(client, 'release savepoint part');
    parts.pop();
  }

  async rollBackPart({ client, changes, parts }: OpenTransaction): Promise<void> {
    changes.length = parts.pop() ?? 0;
    await control(client, 'rollback to savepoint part; release savepoint part');
  }

  isRepeatable(error: unknown): boolean {
    return isConflict(error) || isOutdatedPlan(error);
  }

  async #connect(): Promise<PoolClient> {
    for (;;) {
      const client = await this.#pool.connect().catch((error: unknown) => {
        throw queryError(error);
      });
      const generation = this.#generations.get(client) ?? this.#generation;
      this.#generations.set(client, generation);
      if (generation === this.#generation) return client;
      client.release(true);
    }
  }

  async #execute(client: PoolClient, query: HintedQuery): Promise<QueryResult<never>> {
    const { sql: text, parameters } = query;
    const name = query.isPrepared === true ? this.#nameOf(text) : undefined;
    const values = parameters.map(withoutNul);
    try {
      return resultOf(await client.query({ text, values, ...(name === undefined ? {} : { name }) }));
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

/** SQL written by hand reads, takes locks, or changes settings; only migrations change anything with it. */
const isReadOnly = ({ query, sql }: CompiledQuery): boolean =>
  kindOf(query) === 'read' || (kindOf(query) === 'other' && /^\s*(select|set|explain)\b/i.test(sql));

async function control(client: PoolClient, statement: string): Promise<{ command: string }> {
  try {
    return await client.query(statement);
  } catch (error) {
    throw queryError(error);
  }
}

function resultOf({ rows, command, rowCount }: PostgresResult): QueryResult<never> {
  const isChange = command === 'INSERT' || command === 'UPDATE' || command === 'DELETE';
  return { rows: rows as never[], ...(isChange ? { numAffectedRows: BigInt(rowCount ?? 0) } : {}) };
}
