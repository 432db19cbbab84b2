/** How many rows a list has. */

/** The total, where a page that was read tells it, as the last one does; counted otherwise, which may take longer than the page. */
export async function totalOf(
  { found, limit, offset }: { found: number; limit: number; offset: number },
  count: () => Promise<number>,
): Promise<number> {
  const isLast = found < limit && (found > 0 || offset === 0);
  return isLast ? offset + found : count();
}
