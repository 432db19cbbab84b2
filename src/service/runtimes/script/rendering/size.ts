/** The approximate size of a value. */

/** What every value and key counts in addition to its characters. */
const overhead = 8;

/** Values that are nested more deeply count as infinite. */
const maxDepth = 1_000;

/** The characters of all texts in a value, plus a constant for each value and key. Counting stops above `limit`. */
export function sizeOf(value: unknown, limit: number, depth = 0): number {
  if (typeof value === 'string') return value.length + overhead;
  if (value === null || typeof value !== 'object') return overhead;
  if (depth > maxDepth) return Number.POSITIVE_INFINITY;
  let size = overhead;
  const isList = Array.isArray(value);
  for (const key in value) {
    if (size > limit) break;
    size += isList ? 0 : key.length + overhead;
    size += sizeOf((value as Record<string, unknown>)[key], limit - size, depth + 1);
  }
  return size;
}
