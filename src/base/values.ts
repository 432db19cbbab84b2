/** JSON objects, and shortened texts. */

export type JsonObject = Record<string, unknown>;

/** Whether a value is an object: neither null nor an array. */
export const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value of a JSON text, or undefined if it is not JSON. */
export function jsonValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The first line of a text. */
export const firstLine = (text: string): string => text.split('\n', 1)[0] as string;

/** A text of at most `length` characters. No surrogate pair is split: half of one would be encoded as a replacement character. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  // Not all of it, because it may be very long.
  const characters = [...text.slice(0, 2 * length + 2)];
  return characters.length <= length
    ? text
    : `${characters
        .slice(0, length - 1)
        .join('')
        .trimEnd()}…`;
}
