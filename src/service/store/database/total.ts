/** The number of rows of a list. */

/** The total, derived from the page if possible, as for the last page; otherwise counted, which can take longer than reading the page. */
export async function totalOf(
  { matchCount, limit, offset }: { matchCount: number; limit: number; offset: number },
  count: () => Promise<number>,
): Promise<number> {
  const isLast = matchCount < limit && (matchCount > 0 || offset === 0);
  return isLast ? offset + matchCount : count();
}
