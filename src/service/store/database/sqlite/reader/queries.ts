/** The queries of the thread that reads the database. */
import type { Buffer } from 'node:buffer';
import type { Database, Statement } from 'libsql';
import { packing, type ResultColumn } from '../packed-rows.ts';
import type { ReaderRequest, ReaderResponse } from './messages.ts';

interface PreparedStatement {
  readonly statement: Statement;
  readonly columns: readonly ResultColumn[];
}

/** How many statements are cached: lists have many forms, and each is used again. */
export const maxPrepared = 100;

export class ReaderQueries {
  readonly #database: Pick<Database, 'prepare'>;
  readonly #cache = new Map<string, PreparedStatement>();

  constructor(database: Pick<Database, 'prepare'>) {
    this.#database = database;
  }

  /** Runs a query. Errors become part of the response. */
  answer(request: ReaderRequest): ReaderResponse {
    const { id, parameters, format } = request;
    try {
      const { statement, columns } = this.#prepare(request);
      if (format === 'rows') return { id, columns, rows: statement.all([...parameters]) as unknown[][] };
      // Without rows, the packed form of one row is missing, and that of all rows is null.
      const row = statement.get([...parameters]) as [Buffer | null] | undefined;
      return { id, columns, bytes: row?.[0] ?? null };
    } catch (error) {
      const { message, code } = error as Error & { code?: string };
      return { id, problem: { message, code } };
    }
  }

  /** Forgets all statements: open ones would keep the file open. */
  clear(): void {
    this.#cache.clear();
  }

  #prepare({ sql, format }: ReaderRequest): PreparedStatement {
    const key = `${format} ${sql}`;
    let entry = this.#cache.get(key);
    if (entry === undefined) {
      const columns = this.#database.prepare(sql).columns() as ResultColumn[];
      const rowPacking = format === 'rows' ? undefined : packing(sql, columns);
      const text = rowPacking === undefined ? sql : format === 'packed' ? rowPacking.allRows : rowPacking.eachRow;
      entry = { statement: this.#database.prepare(text).raw(true), columns };
      if (this.#cache.size >= maxPrepared) this.#cache.clear();
      this.#cache.set(key, entry);
    }
    return entry;
  }
}
