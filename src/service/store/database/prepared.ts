/**
 * Queries that are built and compiled once: on the paths of all requests and runs, building a query takes longer than executing it.
 */
import { type Compilable, type CompiledQuery, NoResultError, type QueryExecutor, type QueryResult } from 'kysely';
import type { Queries } from './database.ts';

/** A query with hints for the database. */
export interface HintedQuery extends CompiledQuery {
  /** Only the first row is needed: SQLite makes one row in half the time that it takes to begin a list of rows. */
  readonly firstRowOnly?: boolean;
  /** There is a fixed number of such statements, so the database can keep each of them prepared, with its plan. */
  readonly isPrepared?: boolean;
  /** Nobody needs its result, so a database that is asked over a network can execute it together with the next statement. */
  readonly isSent?: boolean | undefined;
}

/** A placeholder, in a query that is being built, for a value that is passed later. */
class Parameter {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

const parameters = new Proxy({} as Record<string, Parameter>, { get: (_, name) => new Parameter(String(name)) });

/** An executor that may execute a query without a promise. */
interface DirectRun {
  readonly run?: (query: CompiledQuery) => QueryResult<never> | Promise<QueryResult<never>>;
}

type Hints = Pick<HintedQuery, 'firstRowOnly' | 'isSent'>;
type Plan = (values: Record<string, unknown>, hints: Hints) => HintedQuery;

export interface PreparedQuery<Values, Row> {
  all(db: Queries, values: Values): Promise<Row[]>;
  first(db: Queries, values: Values): Promise<Row | undefined>;
  /** Throws if there is no row. */
  only(db: Queries, values: Values): Promise<Row>;
  /** Executes a change, and returns the number of affected rows. */
  change(db: Queries, values: Values): Promise<number>;
  /**
   * Executes a change or a lock before the next query of the transaction, with which its error may be reported. Use it for what cannot
   * fail to have an effect.
   */
  send(db: Queries, values: Values): Promise<void>;
}

/**
 * A query that differs only in its values. If it differs in more, such as the columns that are set, `shape` identifies each variant;
 * `build` is called once for each of them, and may use only those properties of `values` that the shape determines.
 */
export function preparedQuery<Values extends object, Row>(
  build: (db: Queries, parameters: Values, values: Values) => Compilable<Row>,
  shape: (values: Values) => string = () => '',
  { dependsOnValues = () => false }: QueryOptions<Values> = {},
): PreparedQuery<Values, Row> {
  // One map for each kind of database, because their SQL differs.
  const plansByKind = new Map<unknown, Map<string, Plan>>();
  const run = (db: Queries, values: Values, hints: Hints = {}): QueryResult<Row> | Promise<QueryResult<Row>> => {
    const name = shape(values);
    const executor = db.getExecutor() as QueryExecutor & DirectRun;
    const kind = executor.adapter.constructor;
    const plans = plansByKind.get(kind) ?? new Map<string, Plan>();
    plansByKind.set(kind, plans);
    let plan = plans.get(name);
    if (plan === undefined) {
      plan = planOf(build(db, parameters as Values, values).compile(), !dependsOnValues(values));
      plans.set(name, plan);
    }
    const query = plan(values as Record<string, unknown>, hints);
    if (!db.isTransaction || executor.run === undefined) return db.executeQuery(query) as Promise<QueryResult<Row>>;
    return executor.run(query);
  };
  return {
    all: async (db, values) => (await run(db, values)).rows,
    first: async (db, values) => (await run(db, values, { firstRowOnly: true })).rows[0],
    async only(db, values) {
      const row = (await run(db, values, { firstRowOnly: true })).rows[0];
      if (row === undefined) throw new NoResultError({ kind: 'SelectQueryNode' } as never);
      return row;
    },
    change: async (db, values) => Number((await run(db, values)).numAffectedRows ?? 0n),
    send: async (db, values) => void (await run(db, values, { isSent: true })),
  };
}

interface QueryOptions<Values> {
  /**
   * Whether the best way to execute a variant depends on its values, such as on how frequent a text is: Postgres then plans each
   * execution. It depends on the shape alone.
   */
  dependsOnValues?: (values: Values) => boolean;
}

/** The parameters of the columns in `values`, for a change whose columns vary. */
export const columnsOf = <Columns extends object>(parameters: Columns, values: Partial<Columns>): Columns =>
  Object.fromEntries(namesOf(values).map((name) => [name, parameters[name as keyof Columns]])) as Columns;

/** The names of the values that are not undefined, for the shape of a query. */
export const namesOf = (values: object): string[] => Object.keys(values).filter((name) => values[name as never] !== undefined);

function planOf(query: CompiledQuery, isPrepared: boolean): Plan {
  const places = query.parameters;
  const { query: node, queryId, sql } = query;
  return (values, hints) => ({
    query: node,
    queryId,
    sql,
    firstRowOnly: hints.firstRowOnly === true,
    isSent: hints.isSent,
    isPrepared,
    parameters: places.map((place) => (place instanceof Parameter ? values[place.name] : place)),
  });
}
