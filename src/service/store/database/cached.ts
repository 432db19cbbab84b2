/**
 * Queries about tables that seldom change, and that many transactions ask: their rows are cached until one of the tables changes.
 * A database that other processes change as well reports no changes here, so nothing is cached.
 */
import type { Changes } from './changes.ts';
import type { Queries } from './database.ts';
import type { PreparedQuery } from './prepared.ts';

/** How many results of a query are cached. */
const maxResults = 1_000;

interface Results {
  version: number;
  rows: Map<string, readonly never[]>;
}

/** What counts the changes of a database; undefined if nothing can be cached. */
export const changesOf = (db: Queries): Changes | undefined => (db.getExecutor() as { changes?: Changes }).changes;

/**
 * The rows of a query, which callers must not change. Only transactions use the cache: they end no earlier than everything that an
 * earlier one has read is durable.
 * @param tables all tables that the query reads
 */
export function cachedQuery<Values extends object, Row>(
  tables: readonly string[],
  query: PreparedQuery<Values, Row>,
): (db: Queries, values: Values) => Promise<readonly Row[]> {
  const caches = new WeakMap<Changes, Results>();
  return async (db, values) => {
    const changes = db.isTransaction ? changesOf(db) : undefined;
    if (changes === undefined) return query.all(db, values);
    const version = changes.versionOf(tables);
    const previous = caches.get(changes);
    const isCurrent = previous?.version === version && previous.rows.size < maxResults;
    const results = isCurrent ? previous : { version, rows: new Map<string, readonly never[]>() };
    caches.set(changes, results);
    const key = JSON.stringify(values);
    const cachedRows = results.rows.get(key);
    if (cachedRows !== undefined) return cachedRows;
    const rows = await query.all(db, values);
    results.rows.set(key, rows as never[]);
    return rows;
  };
}
