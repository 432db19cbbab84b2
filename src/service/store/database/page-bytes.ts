/**
 * Pages end early when their rows are large: what a page holds is in memory several times while it is answered, and every
 * other request waits while it is put together.
 */
import { type RawBuilder, sql } from 'kysely';

/** Bytes of content on a page. A single row that is larger is a page of its own. */
export const pageBytes = 1024 * 1024;

/** How many rows, of these sizes in bytes and in this order, make a page: at least one, if there are any. */
export function fitting(sizes: readonly number[], most = pageBytes): number {
  let bytes = 0;
  for (const [index, size] of sizes.entries()) {
    bytes += size;
    if (bytes > most) return Math.max(1, index);
  }
  return sizes.length;
}

/** The bytes that columns of text take. SQLite knows them without reading the texts. */
export const bytesOf = (...columns: string[]): RawBuilder<number> =>
  sql<number>`${sql.join(
    columns.map((column) => sql`coalesce(octet_length(${sql.ref(column)}), 0)`),
    sql` + `,
  )}`;
