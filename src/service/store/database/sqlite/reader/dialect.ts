/** Kysely's dialect for a thread that reads. */
import { type DatabaseConnection, type Dialect, type Driver, type QueryResult, SqliteDialect } from 'kysely';
import type { Reader } from './reader.ts';

/** @param around is called with each query, and runs it; by default immediately */
export class ReaderDialect extends SqliteDialect implements Dialect {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    super({ database: async () => Promise.reject(new Error('The thread has the database.')) });
    this.#reader = reader;
  }

  override createDriver(): Driver {
    const reader = this.#reader;
    const connection: DatabaseConnection = {
      executeQuery: async <Row>(query: Parameters<DatabaseConnection['executeQuery']>[0]) =>
        (await reader.run(query)) as unknown as QueryResult<Row>,
      // biome-ignore lint/correctness/useYield: nothing here is ever streamed
      async *streamQuery() {
        throw new Error('Queries are not streamed; page through them.');
      },
    };
    const unsupported = async (): Promise<never> => Promise.reject(new Error('A database that is only read has no transactions.'));
    return {
      init: async () => undefined,
      acquireConnection: async () => connection,
      releaseConnection: async () => undefined,
      beginTransaction: unsupported,
      commitTransaction: unsupported,
      rollbackTransaction: unsupported,
      destroy: () => reader.close(),
    };
  }
}
