/**
 * Pages end early if their rows are large: a page is in memory several times while it is sent, and all other requests wait while it
 * is built.
 */
import { type RawBuilder, sql } from 'kysely';

/** Bytes of content on a page. A larger row is the only one on its page. */
export const pageBytes = 1024 * 1024;

/** How many rows with these sizes in bytes, in this order, fit on a page: at least one, if there are any. */
export function fittingCount(sizes: readonly number[], maxBytes = pageBytes): number {
  let bytes = 0;
  for (const [index, size] of sizes.entries()) {
    bytes += size;
    if (bytes > maxBytes) return Math.max(1, index);
  }
  return sizes.length;
}

/** The size of text columns in bytes, which SQLite knows without reading the texts. */
export const bytesOf = (...columns: string[]): RawBuilder<number> =>
  sql<number>`${sql.join(
    columns.map((column) => sql`coalesce(octet_length(${sql.ref(column)}), 0)`),
    sql` + `,
  )}`;
