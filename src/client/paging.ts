/**
 * Offset paging: walks a list without repeating rows when rows are inserted meanwhile, without leaving out others when some are removed,
 * and without looping forever.
 */

import { setImmediate } from 'node:timers/promises';
import { AnswerTooLargeError } from './errors.ts';

export interface Page<Row> {
  items: Row[];
  total: number;
  /** Whether `total` only says that there are more rows. */
  isUncounted?: boolean;
}

export interface PageRange {
  /** Maximum number of rows to return; undefined for all. */
  limit?: number | undefined;
  offset?: number | undefined;
}

/** IDs to remember, in pages: rows inserted in front push other rows onto a later page, but not far. */
const rememberedPages = 20;
/** Consecutive pages without new rows after which the walk ends, because the service repeats itself. */
const barrenPages = 3;

/** Reads one page. */
export type FetchPage<Row> = (limit: number, offset: number) => Promise<Page<Row>>;

/** Yields the rows of a paged read one by one; see `pagedBatches`. */
export async function* pagedRows<Row extends { id: string }>(
  fetchPage: FetchPage<Row>,
  pageSize: number,
  range: PageRange = {},
): AsyncGenerator<Row, void, undefined> {
  for await (const rows of pagedBatches(fetchPage, pageSize, range)) yield* rows;
}

/**
 * The same read, but whenever a response is too large for the client, it requests half as many rows from then on: rows such as
 * messages have no fixed size. Further arguments are passed on unchanged.
 */
export function shrinking<Answer, Rest extends unknown[]>(
  fetchPage: (limit: number, offset: number, ...rest: Rest) => Promise<Answer>,
): typeof fetchPage {
  let maxRows = Number.POSITIVE_INFINITY;
  return async (limit, offset, ...rest) => {
    for (;;) {
      const rows = Math.min(limit, maxRows);
      try {
        return await fetchPage(rows, offset, ...rest);
      } catch (error) {
        if (!(error instanceof AnswerTooLargeError) || rows <= 1) throw error;
        maxRows = Math.floor(rows / 2);
      }
    }
  };
}

/**
 * Yields the rows of a paged read page by page. The next page is read while the current one is used, but no page is read that
 * is not needed.
 * @param pageSize the largest `limit` that the operation accepts
 */
export async function* pagedBatches<Row extends { id: string }>(
  fetchPage: FetchPage<Row>,
  pageSize: number,
  range: PageRange = {},
): AsyncGenerator<Row[], void, undefined> {
  const recentIds = new RecentIds(rememberedPages * pageSize);
  let remaining = range.limit ?? Number.POSITIVE_INFINITY;
  const start = range.offset ?? 0;
  let offset = start;
  let knownTotal = 0;
  let emptyPages = 0;
  let nextPage: Promise<Page<Row>> | undefined;
  const readPage = shrinking(fetchPage);
  const fetchNext = (): Promise<Page<Row>> => readPage(Math.min(pageSize, remaining), offset);
  while (remaining > 0) {
    const { items, total, isUncounted = false } = await (nextPage ?? fetchNext());
    // If rows were removed in front of this page, as many have moved in front of it that were not read yet.
    const gap = Math.min(knownTotal - total, pageSize, offset - start);
    const movedRows = gap > 0 ? (await readPage(gap, offset - gap)).items : [];
    knownTotal = isUncounted ? 0 : total;
    const newRows = [...movedRows, ...items].filter((row) => recentIds.add(row.id)).slice(0, remaining);
    remaining -= newRows.length;
    offset += items.length;
    emptyPages = newRows.length === 0 ? emptyPages + 1 : 0;
    const isLastPage = items.length === 0 || offset >= total || emptyPages >= barrenPages;
    if (remaining > 0 && !isLastPage) {
      nextPage = fetchNext();
      // A failure is reported when the next row is requested, and otherwise not at all.
      nextPage.catch(() => undefined);
      await afterRequestSent();
    }
    if (newRows.length > 0) yield newRows;
    if (isLastPage) return;
  }
}

/** The most recent IDs: between `size` and twice as many. */
class RecentIds {
  readonly #size: number;
  #current = new Set<string>();
  #previous = new Set<string>();

  constructor(maxRows: number) {
    this.#size = maxRows;
  }

  /** Whether the id is new. */
  add(id: string): boolean {
    const { size } = this.#current;
    if (this.#current.add(id).size === size || this.#previous.has(id)) return false;
    if (this.#current.size >= this.#size) {
      this.#previous = this.#current;
      this.#current = new Set();
    }
    return true;
  }
}

/** Resolves when a pending request has been written to its connection, so that it is answered while earlier rows are processed. */
async function afterRequestSent(): Promise<void> {
  // The dispatcher queues the write behind the first immediate.
  await setImmediate();
  await setImmediate();
}
