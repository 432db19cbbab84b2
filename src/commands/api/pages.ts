/** All pages of a list that `aops api --paginate` reads: by offset, until the service has no more. */
import { UsageError } from '../../base/errors.ts';

export type Json = Record<string, unknown>;

/**
 * Reads pages until the last one.
 * @param read reads the page at an offset; undefined for the first, which is sent as it was asked for
 * @param start the offset of the first page
 * @throws UsageError when the answer is no list of pages
 */
export async function readPages(read: (offset: number | undefined) => Promise<unknown>, start: number): Promise<Json[]> {
  const pages: Json[] = [];
  let offset = start;
  for (;;) {
    const page = (await read(pages.length === 0 ? undefined : offset)) as Json;
    const { length } = page[listKey(page)] as unknown[];
    pages.push(page);
    offset += length;
    const { total, has_more: more } = page;
    if (length === 0 || more === false || (typeof total === 'number' && offset >= total)) return pages;
  }
}

/**
 * One answer out of all pages: the first, with the rows of all. A row that a change in between pushed onto a second page is not repeated.
 */
export function mergePages(pages: readonly Json[]): Json {
  const [first] = pages as [Json];
  const key = listKey(first);
  const seen = new Set<unknown>();
  const rows = pages
    .flatMap((page) => page[key] as unknown[])
    .filter((row) => {
      const id = (row as { id?: unknown } | null)?.id;
      if (typeof id !== 'string') return true;
      return seen.has(id) ? false : seen.add(id);
    });
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
