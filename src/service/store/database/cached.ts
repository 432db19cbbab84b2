/**
 * Queries about tables that seldom change, and that many transactions ask: their rows are cached until one of the tables changes.
 * A database that other processes change as well reports no changes here, so nothing is cached but what a transaction has learned.
 */
import { BoundedCache } from '../../../base/bounded-cache.ts';
import type { Changes } from './changes.ts';
import type { Queries } from './database.ts';
import type { PreparedQuery } from './prepared.ts';

/** How many results of a query are cached, unless their size is limited. */
const maxResults = 1_000;

interface Results {
  version: number;
  rows: BoundedCache<readonly never[]>;
}

/** The maximum size of all cached results of a query, and the size of one, in the same unit. */
interface Bounds<Row> {
  maxSize: number;
  sizeOf: (rows: readonly Row[]) => number;
}

/** What counts the changes of a database; undefined if nothing can be cached. */
export const changesOf = (db: Queries): Changes | undefined => (db.getExecutor() as { changes?: Changes }).changes;

/** What counts the changes of a transaction, on a database whose changes are not counted. */
const ownChangesOf = (trx: Queries): Changes | undefined => (trx.getExecutor() as { ownChanges?: Changes }).ownChanges;

/** A query whose rows are cached. */
export interface CachedQuery<Values, Row> {
  (db: Queries, values: Values): Promise<readonly Row[]>;
  /**
   * Tells a transaction, on a database that other processes change, rows that it has found in another way. It does not read them until it
   * changes the table. If `rows` is undefined, it forgets what it was told.
   */
  learn(trx: Queries, values: Values, rows: readonly Row[] | undefined): void;
}

/**
 * The rows of a query, which callers must not change. Only transactions use the cache: they end no earlier than everything that an
 * earlier one has read is durable.
 * @param tables all tables that the query reads
 * @param bounds for rows that can be large; by default, 1,000 results are cached
 */
export function cachedQuery<Values extends object, Row>(
  tables: readonly string[],
  query: PreparedQuery<Values, Row>,
  bounds: Bounds<Row> = { maxSize: maxResults, sizeOf: () => 1 },
): CachedQuery<Values, Row> {
  const caches = new WeakMap<Changes, Results>();
  const currentRows = (changes: Changes): Results['rows'] => {
    const version = changes.versionOf(tables);
    const previous = caches.get(changes);
    const results = previous?.version === version ? previous : { version, rows: newCache(bounds) };
    if (results !== previous) caches.set(changes, results);
    return results.rows;
  };
  const read = async (db: Queries, values: Values): Promise<readonly Row[]> => {
    const key = JSON.stringify(values);
    const changes = db.isTransaction ? changesOf(db) : undefined;
    if (changes === undefined) {
      const ownChanges = ownChangesOf(db);
      return (ownChanges && currentRows(ownChanges).get(key)) ?? query.all(db, values);
    }
    const cache = currentRows(changes);
    const cachedRows = cache.get(key);
    if (cachedRows !== undefined) return cachedRows;
    const rows = await query.all(db, values);
    cache.set(key, rows as never[]);
    return rows;
  };
  const learn = (trx: Queries, values: Values, rows: readonly Row[] | undefined): void => {
    const ownChanges = ownChangesOf(trx);
    if (ownChanges === undefined) return;
    const cache = currentRows(ownChanges);
    const key = JSON.stringify(values);
    cache.delete(key);
    if (rows !== undefined) cache.set(key, rows as readonly never[]);
  };
  return Object.assign(read, { learn });
}

const newCache = <Row>({ maxSize, sizeOf }: Bounds<Row>): BoundedCache<readonly never[]> =>
  new BoundedCache(maxSize, (_, rows) => sizeOf(rows as readonly Row[]));
