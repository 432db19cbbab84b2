/** Statements of one libsql database, prepared once and executed safely. */
import type { Buffer } from 'node:buffer';
import type { OperationNode, QueryResult } from 'kysely';
import type { Database as LibsqlDatabase, Statement } from 'libsql';
import { damageIn } from '../damaged-data.ts';
import { kindOf } from '../execution/kinds.ts';
import type { HintedQuery } from '../prepared.ts';
import { bindable } from '../stored-values.ts';
import { type Packing, packedChange, packing, type ResultColumn } from './packed-rows.ts';

interface PreparedStatement {
  readonly statement: Statement;
  /** For a query: one row for each of its rows, instead of one for all. Prepared when it is first needed. */
  eachRow?: Statement;
  readonly packing?: Packing;
  /** Creates a row from the values of a statement that was written by hand; undefined if the statement returns no rows. */
  readonly row?: (values: readonly unknown[]) => never;
}

/** How many statements are cached, because preparing takes longer than executing. Only lists of different lengths could need more. */
const maxPrepared = 500;

export class Statements {
  readonly #database: LibsqlDatabase;
  readonly #cache = new Map<string, PreparedStatement>();

  constructor(database: LibsqlDatabase) {
    this.#database = database;
  }

  /** Throws SQLite's errors, and DamagedDataError for data that can no longer be read. */
  run(query: HintedQuery): QueryResult<never> {
    try {
      return this.#run(query);
    } catch (error) {
      throw damageIn(error);
    }
  }

  #run({ sql, parameters, query, firstRowOnly }: HintedQuery): QueryResult<never> {
    const kind = kindOf(query);
    // It may change the schema that other statements were prepared for.
    if (kind === 'other') this.#cache.clear();
    const preparedStatement = kind === 'other' ? this.#prepareHandwritten(sql) : this.#remember(sql, query);
    const { statement, packing, row } = preparedStatement;
    const values = parameters.map(bindable);
    if (packing !== undefined) {
      // All rows of a change must be read, or it would not be completed.
      if (kind === 'write') return { rows: (statement.all(values) as [Buffer][]).flatMap(([bytes]) => packing.unpack(bytes)) };
      if (!firstRowOnly) return { rows: packing.unpack((statement.get(values) as [Buffer | null])[0]) };
      preparedStatement.eachRow ??= this.#database.prepare(packing.eachRow).raw(true);
      const first = preparedStatement.eachRow.get(values) as [Buffer] | undefined;
      return { rows: first === undefined ? [] : packing.unpack(first[0]) };
    }
    if (row !== undefined) return { rows: (statement.all(values) as unknown[][]).map(row) };
    const { changes, lastInsertRowid } = statement.run(values);
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
  }

  #remember(sql: string, query: OperationNode): PreparedStatement {
    let preparedStatement = this.#cache.get(sql);
    if (preparedStatement === undefined) {
      preparedStatement = this.#prepare(sql, query);
      if (this.#cache.size >= maxPrepared) this.#cache.delete(this.#cache.keys().next().value as string);
      this.#cache.set(sql, preparedStatement);
    }
    return preparedStatement;
  }

  #prepare(sql: string, query: OperationNode): PreparedStatement {
    const statement = this.#database.prepare(sql);
    if (!statement.reader) return { statement };
    const columns = statement.columns() as ResultColumn[];
    const rowPacking = packing(sql, columns);
    const packedSql = kindOf(query) === 'read' ? rowPacking.allRows : packedChange(sql, columns);
    return { statement: this.#database.prepare(packedSql).raw(true), packing: rowPacking };
  }

  /** A statement whose rows come from SQLite itself, such as a pragma. */
  #prepareHandwritten(sql: string): PreparedStatement {
    const statement = this.#database.prepare(sql);
    if (!statement.reader) return { statement };
    statement.raw(true);
    return { statement, row: rowMaker((statement.columns() as { name: string }[]).map(({ name }) => name)) };
  }
}

/** A function that is generated for these columns fills an object several times faster than a loop over their names. */
function rowMaker(columns: readonly string[]): (values: readonly unknown[]) => never {
  const fields = columns.map((name, index) => `${JSON.stringify(name)}: values[${index}]`);
  return new Function('values', `return { ${fields.join(', ')} };`) as (values: readonly unknown[]) => never;
}
