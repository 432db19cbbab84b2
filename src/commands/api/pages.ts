/**
 * All pages of a list that `aops api --paginate` reads, until the service has no more: by offset, or backwards from the latest
 * where the answer says whether there is more before it.
 */
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';

export type Json = Record<string, unknown>;

/** What the query of the next page has to say. */
export type Place = { offset: number } | { before: string };

/** Pages in a row that bring nothing new before it is clear that none will. */
const barrenPages = 3;

/**
 * Reads pages until the last one.
 * @param read reads the page at a place; undefined for the first, which is sent as it was asked for
 * @param start the offset of the first page
 * @throws UsageError if the response is not a list of pages; AopsError when the service repeats itself: the rest cannot be read
 */
export async function readPages(read: (place: Place | undefined) => Promise<unknown>, start: number): Promise<Json[]> {
  const pages: Json[] = [];
  const seen = new Set<unknown>();
  let place: Place | undefined;
  let offset = start;
  let barren = 0;
  for (;;) {
    const page = (await read(place)) as Json;
    const rows = page[listKey(page)] as unknown[];
    pages.push(page);
    offset += rows.length;
    const { total, has_more: more } = page;
    if (rows.length === 0) return pages;
    const ended = typeof more === 'boolean' ? !more : typeof total === 'number' && offset >= total;
    barren = rows.filter((row) => isNew(row, seen)).length === 0 ? barren + 1 : 0;
    // What others add in front pushes rows onto a later page, but never makes the last one of them alone.
    if (barren >= barrenPages || (ended && barren > 0)) throw repeated();
    if (ended) return pages;
    const first = idOf(rows[0]);
    place = typeof more === 'boolean' && first !== undefined ? { before: first } : { offset };
  }
}

const repeated = (): AopsError =>
  new AopsError('The service repeats the same rows instead of the next page.', {
    code: 'pages_repeated',
    exit: exitCodes.failure,
    hint: 'This list is not paged by offset: leave out --paginate, and ask for its pages as its operation has them.',
  });

const idOf = (row: unknown): string | undefined => {
  const id = (row as { id?: unknown } | null)?.id;
  return typeof id === 'string' ? id : undefined;
};

/** Rows without an id cannot be told apart, and count as new. */
function isNew(row: unknown, seen: Set<unknown>): boolean {
  const id = idOf(row);
  return id === undefined || (!seen.has(id) && seen.add(id) !== undefined);
}

/**
 * One answer out of all pages: the first, with the rows of all. A row that a change in between pushed onto a second page is not repeated.
 */
export function mergePages(pages: readonly Json[]): Json {
  const [first] = pages as [Json];
  const key = listKey(first);
  const seen = new Set<unknown>();
  // Read backwards, in the order of the list.
  const inOrder = typeof first.has_more === 'boolean' ? pages.toReversed() : pages;
  const rows = inOrder.flatMap((page) => page[key] as unknown[]).filter((row) => isNew(row, seen));
  const { has_more: _, ...rest } = first;
  return {
    ...rest,
    ...(pages.at(-1)?.total === undefined ? {} : { total: pages.at(-1)?.total }),
    ...('limit' in first ? { limit: rows.length } : {}),
    [key]: rows,
  };
}

function listKey(page: unknown): string {
  const lists = typeof page === 'object' && page !== null ? Object.entries(page).filter(([, value]) => Array.isArray(value)) : [];
  const paged = typeof page === 'object' && page !== null && ('total' in page || 'has_more' in page);
  const [only] = lists;
  if (only !== undefined && lists.length === 1 && paged) return only[0];
  throw new UsageError('This answer has no pages.', 'Leave out --paginate.');
}
