/** Offset paging: walks a list without repeating a row when it changes underneath, and without looping for ever. */

export interface Page<Row> {
  items: Row[];
  total: number;
}

export interface PageRange {
  /** Rows to return at the most; undefined for all. */
  limit?: number | undefined;
  offset?: number | undefined;
}

/**
 * Yields the rows of a paged read. Stops at an empty page, or at one that brings nothing new.
 * @param fetchPage reads one page
 * @param pageSize the largest `limit` that the operation takes
 */
export async function* pagedRows<Row extends { id: string }>(
  fetchPage: (limit: number, offset: number) => Promise<Page<Row>>,
  pageSize: number,
  range: PageRange = {},
): AsyncGenerator<Row, void, undefined> {
  const wanted = range.limit ?? Number.POSITIVE_INFINITY;
  const seen = new Set<string>();
  let offset = range.offset ?? 0;
  while (seen.size < wanted) {
    const { items, total } = await fetchPage(Math.min(pageSize, wanted - seen.size), offset);
    const fresh = items.filter((row) => !seen.has(row.id));
    if (fresh.length === 0) return;
    for (const row of fresh) {
      seen.add(row.id);
      yield row;
      if (seen.size >= wanted) return;
    }
    offset += items.length;
    if (offset >= total) return;
  }
}
