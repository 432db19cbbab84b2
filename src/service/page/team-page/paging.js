/** Reads lists that the service returns in pages. */

const pageSize = 100;
/** A list for people is not longer than this. */
const maxItems = 1_000;

/**
 * All items of a list, up to a thousand. Items that move while pages are read appear once. @template {{ id: string }} Item
 * @param {import('./api.js').Api} api @param {string} path @param {string} property the property that contains the items
 * @param {AbortSignal} [signal] @param {Record<string, string>} [query]
 * @returns {Promise<Item[]>}
 */
export async function listAll(api, path, property, signal, query = {}) {
  /** @type {Map<string, Item>} */
  const items = new Map();
  for (let offset = 0; offset < maxItems; ) {
    /** @type {Record<string, any>} */
    const page = await api.get(path, { ...query, limit: pageSize, offset }, signal);
    /** @type {Item[]} */
    const rows = page[property];
    for (const row of rows) items.set(row.id, row);
    offset += rows.length;
    if (rows.length === 0 || offset >= page.total) break;
  }
  return [...items.values()];
}
