/**
 * Reads all pages of a list for `aops api --paginate`: by offset, or backwards from the latest page if the response reports whether
 * there are earlier rows.
 */
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';

export type Json = Record<string, unknown>;

/** The query parameters of the next page. */
export type Place = { offset: number } | { before: string };

/** How many pages in a row can contain nothing new before reading stops, and how many times in a row it goes back without finding more. */
const maxRepeatedPages = 3;

/**
 * Reads pages until the last one.
 * @param readPage reads the page at a place; undefined for the first page, whose request is unchanged
 * @param start the offset of the first page
 * @throws UsageError when the response is not a list with pages; AopsError when the service keeps repeating rows
 */
export async function readPages(readPage: (place: Place | undefined) => Promise<unknown>, start: number): Promise<Json[]> {
  const pages: Json[] = [];
  const seenIds = new Set<unknown>();
  let place: Place | undefined;
  let offset = start;
  let knownTotal = 0;
  let repeatedPages = 0;
  let timesBack = 0;
  let isReadAgain = false;
  for (;;) {
    const page = (await readPage(place)) as Json;
    const rows = rowsOf(page);
    const { total, has_more: hasMore } = page;
    const isByOffset = typeof total === 'number' && typeof hasMore !== 'boolean';
    // If rows were removed in front of this page, as many have moved in front of it that were not read yet.
    const gap = isByOffset && seenIds.size > 0 ? Math.min(knownTotal - total, rowsOf(pages.at(-1) as Json).length) : 0;
    if (isByOffset) knownTotal = total;
    if (gap > 0 && timesBack < maxRepeatedPages) {
      offset -= gap;
      place = { offset };
      timesBack += 1;
      isReadAgain = true;
      continue;
    }
    pages.push(page);
    offset += rows.length;
    if (rows.length === 0) return pages;
    const isLastPage = typeof hasMore === 'boolean' ? !hasMore : typeof total === 'number' && offset >= total;
    const hasNewRows = rows.filter((row) => isNew(row, seenIds)).length > 0;
    if (hasNewRows) [repeatedPages, timesBack] = [0, 0];
    else if (!isReadAgain) repeatedPages += 1;
    isReadAgain = false;
    // New rows at the front can push rows onto the next page, but the last page always contains at least one new row.
    if (repeatedPages >= maxRepeatedPages || (isLastPage && repeatedPages > 0)) throw repeatedPagesError();
    if (isLastPage) return pages;
    const firstId = idOf(rows[0]);
    place = typeof hasMore === 'boolean' && firstId !== undefined ? { before: firstId } : { offset };
  }
}

const repeatedPagesError = (): AopsError =>
  new AopsError('The service repeats the same rows instead of the next page.', {
    code: 'pages_repeated',
    exit: exitCodes.failure,
    hint: 'This list does not support offsets. Omit --paginate and use the paging parameters of the operation.',
  });

const idOf = (row: unknown): string | undefined => {
  const id = (row as { id?: unknown } | null)?.id;
  return typeof id === 'string' ? id : undefined;
};

/** Rows without an ID cannot be distinguished, so they count as new. */
function isNew(row: unknown, seenIds: Set<unknown>): boolean {
  const id = idOf(row);
  return id === undefined || (!seenIds.has(id) && seenIds.add(id) !== undefined);
}

const rowsOf = (page: Json): unknown[] => page[listKey(page)] as unknown[];

/**
 * Merges all pages into the first. Rows that were pushed onto another page between two requests appear only once.
 */
export function mergePages(pages: readonly Json[]): Json {
  const [firstPage] = pages as [Json];
  const key = listKey(firstPage);
  const seenIds = new Set<unknown>();
  // Pages that were read backwards are put into the order of the list.
  const sortedPages = typeof firstPage.has_more === 'boolean' ? pages.toReversed() : pages;
  const rows = sortedPages.flatMap(rowsOf).filter((row) => isNew(row, seenIds));
  const { has_more: _, ...rest } = firstPage;
  return {
    ...rest,
    ...(pages.at(-1)?.total === undefined ? {} : { total: pages.at(-1)?.total }),
    ...('limit' in firstPage ? { limit: rows.length } : {}),
    [key]: rows,
  };
}

function listKey(page: unknown): string {
  const lists = typeof page === 'object' && page !== null ? Object.entries(page).filter(([, value]) => Array.isArray(value)) : [];
  const isPaged = typeof page === 'object' && page !== null && ('total' in page || 'has_more' in page);
  const [onlyList] = lists;
  if (onlyList !== undefined && lists.length === 1 && isPaged) return onlyList[0];
  throw new UsageError('The response is not a list with pages.', 'Omit --paginate.');
}
