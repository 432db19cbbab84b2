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

/** Ids to remember, in pages: rows that are inserted in front push others onto a later page, but not far. */
const rememberedPages = 20;
/** Pages in a row that bring nothing new before the walk ends: the service repeats itself. */
const barrenPages = 3;

/**
 * Yields the rows of a paged read. The next page is read while the rows of one are used, but never one that is not needed.
 * @param fetchPage reads one page
 * @param pageSize the largest `limit` that the operation takes
 */
export async function* pagedRows<Row extends { id: string }>(
  fetchPage: (limit: number, offset: number) => Promise<Page<Row>>,
  pageSize: number,
  range: PageRange = {},
): AsyncGenerator<Row, void, undefined> {
  const recent = new RecentIds(rememberedPages * pageSize);
  let wanted = range.limit ?? Number.POSITIVE_INFINITY;
  let offset = range.offset ?? 0;
  let barren = 0;
  let next: Promise<Page<Row>> | undefined;
  const read = (): Promise<Page<Row>> => fetchPage(Math.min(pageSize, wanted), offset);
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
    }
    yield* fresh;
    if (ended) return;
  }
}

/** The ids seen last. */
class RecentIds {
  readonly #ids = new Set<string>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether the id is new. */
  add(id: string): boolean {
    if (this.#ids.has(id)) return false;
    this.#ids.add(id);
    if (this.#ids.size > this.#most) for (const oldest of this.#ids) return this.#ids.delete(oldest);
    return true;
  }
}
