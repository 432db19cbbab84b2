/** Statements of one libsql database, prepared once and executed safely. */
import type { Buffer } from 'node:buffer';
import type { OperationNode, QueryResult } from 'kysely';
import type { Database as LibsqlDatabase, Statement } from 'libsql';
import { damageIn } from '../damaged-data.ts';
import { kindOf } from '../execution/kinds.ts';
import type { HintedQuery } from '../prepared.ts';
import { bindable } from '../stored-values.ts';
import { type Packing, packedChange, packing, type ResultColumn } from './packed-rows.ts';

/** A statement that returns no rows, or that was written by hand. */
interface PlainStatement {
  readonly statement: Statement;
  /** Creates a row from the values of a statement that was written by hand; undefined if the statement returns no rows. */
  readonly row?: (values: readonly unknown[]) => never;
}

/** A change that returns rows, each of which is packed. */
interface PackedChange {
  readonly change: Statement;
  readonly packing: Packing;
}

/** A query. Its statements are prepared when they are first needed, because most queries need only one of them. */
interface PackedQuery {
  readonly packing: Packing;
  /** One row for all rows of the query. */
  allRows?: Statement;
  /** One row for each row of the query. */
  eachRow?: Statement;
}

type PreparedStatement = PlainStatement | PackedChange | PackedQuery;

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
    const values = parameters.map(bindable);
    if ('statement' in preparedStatement) return runPlain(preparedStatement, values);
    const { packing } = preparedStatement;
    // All rows of a change must be read, or it would not be completed.
    if ('change' in preparedStatement)
      return { rows: (preparedStatement.change.all(values) as [Buffer][]).flatMap(([bytes]) => packing.unpack(bytes)) };
    if (!firstRowOnly) {
      preparedStatement.allRows ??= this.#database.prepare(packing.allRows).raw(true);
      return { rows: packing.unpack((preparedStatement.allRows.get(values) as [Buffer | null])[0]) };
    }
    preparedStatement.eachRow ??= this.#database.prepare(packing.eachRow).raw(true);
    const first = preparedStatement.eachRow.get(values) as [Buffer] | undefined;
    return { rows: first === undefined ? [] : packing.unpack(first[0]) };
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
    if (kindOf(query) === 'read') return { packing: rowPacking };
    return { change: this.#database.prepare(packedChange(sql, columns)).raw(true), packing: rowPacking };
  }

  /** A statement whose rows come from SQLite itself, such as a pragma. */
  #prepareHandwritten(sql: string): PlainStatement {
    const statement = this.#database.prepare(sql);
    if (!statement.reader) return { statement };
    statement.raw(true);
    return { statement, row: rowMaker((statement.columns() as { name: string }[]).map(({ name }) => name)) };
  }
}

function runPlain({ statement, row }: PlainStatement, values: readonly unknown[]): QueryResult<never> {
  if (row !== undefined) return { rows: (statement.all(values) as unknown[][]).map(row) };
  const { changes, lastInsertRowid } = statement.run(values);
  return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
}

/** A function that is generated for these columns fills an object several times faster than a loop over their names. */
function rowMaker(columns: readonly string[]): (values: readonly unknown[]) => never {
  const fields = columns.map((name, index) => `${JSON.stringify(name)}: values[${index}]`);
  return new Function('values', `return { ${fields.join(', ')} };`) as (values: readonly unknown[]) => never;
}
