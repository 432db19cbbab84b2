/** Offset paging: walks a list without repeating a row when it changes underneath, and without looping for ever. */

import { setImmediate } from 'node:timers/promises';
import { AnswerTooLargeError } from './errors.ts';

export interface Page<Row> {
  items: Row[];
  total: number;
}

export interface PageRange {
  /** Rows to return at the most; undefined for all. */
  limit?: number | undefined;
  offset?: number | undefined;
}

/** Ids to remember, in pages: rows that are inserted in front push others onto a later page, but not far. */
const rememberedPages = 20;
/** Pages in a row that bring nothing new before the walk ends: the service repeats itself. */
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
 * The same read, which asks for half as many rows from then on whenever an answer is larger than the client reads: rows such as
 * messages have no fixed size. Further arguments are passed on as they are.
 */
export function shrinking<Answer, Rest extends unknown[]>(
  fetchPage: (limit: number, offset: number, ...rest: Rest) => Promise<Answer>,
): typeof fetchPage {
  let most = Number.POSITIVE_INFINITY;
  return async (limit, offset, ...rest) => {
    for (;;) {
      const asked = Math.min(limit, most);
      try {
        return await fetchPage(asked, offset, ...rest);
      } catch (error) {
        if (!(error instanceof AnswerTooLargeError) || asked <= 1) throw error;
        most = Math.floor(asked / 2);
      }
    }
  };
}

/**
 * Yields the rows of a paged read, those of a page together. The next page is read while one is used, but never one that is
 * not needed.
 * @param pageSize the largest `limit` that the operation takes
 */
export async function* pagedBatches<Row extends { id: string }>(
  fetchPage: FetchPage<Row>,
  pageSize: number,
  range: PageRange = {},
): AsyncGenerator<Row[], void, undefined> {
  const recent = new RecentIds(rememberedPages * pageSize);
  let wanted = range.limit ?? Number.POSITIVE_INFINITY;
  let offset = range.offset ?? 0;
  let barren = 0;
  let next: Promise<Page<Row>> | undefined;
  const readPage = shrinking(fetchPage);
  const read = (): Promise<Page<Row>> => readPage(Math.min(pageSize, wanted), offset);
  while (wanted > 0) {
    const { items, total } = await (next ?? read());
    const fresh = items.filter((row) => recent.add(row.id)).slice(0, wanted);
    wanted -= fresh.length;
    offset += items.length;
    barren = fresh.length === 0 ? barren + 1 : 0;
    const ended = items.length === 0 || offset >= total || barren >= barrenPages;
    if (wanted > 0 && !ended) {
      next = read();
      // Its failure belongs to whoever asks for the next row, and to nobody when nobody does.
      next.catch(() => undefined);
      await requestLeft();
    }
    if (fresh.length > 0) yield fresh;
    if (ended) return;
  }
}

/** The ids seen last: between `most` and twice as many. */
class RecentIds {
  readonly #most: number;
  #current = new Set<string>();
  #before = new Set<string>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether the id is new. */
  add(id: string): boolean {
    const { size } = this.#current;
    if (this.#current.add(id).size === size || this.#before.has(id)) return false;
    if (this.#current.size >= this.#most) {
      this.#before = this.#current;
      this.#current = new Set();
    }
    return true;
  }
}

/** A request that has been made is written to its connection by then, and answered while the rows before it are worked on. */
async function requestLeft(): Promise<void> {
  // The dispatcher queues the write behind the first.
  await setImmediate();
  await setImmediate();
}
