/** How large a value is, as far as it matters. */

/** What every value and key counts for beside its characters. */
const overhead = 8;

/** What is nested deeper is as good as endless. */
const deepest = 1_000;

/** Characters of all texts in a value, and a little for each value and key. Counting stops once it is more than `limit`. */
export function sizeOf(value: unknown, limit: number, depth = 0): number {
  if (typeof value === 'string') return value.length + overhead;
  if (value === null || typeof value !== 'object') return overhead;
  if (depth > deepest) return Number.POSITIVE_INFINITY;
  let size = overhead;
  const isList = Array.isArray(value);
  for (const key in value) {
    if (size > limit) break;
    size += isList ? 0 : key.length + overhead;
    size += sizeOf((value as Record<string, unknown>)[key], limit - size, depth + 1);
  }
  return size;
}
