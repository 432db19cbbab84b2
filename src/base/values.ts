/** What values of JSON are, and the beginnings of texts. */

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

/** A text up to its first line feed. */
export const firstLine = (text: string): string => text.split('\n', 1)[0] as string;

/** A text of at most so many characters. None is cut in two: half of one is no text, and comes back as another. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const characters = [...text];
  return characters.length <= most
    ? text
    : `${characters
        .slice(0, most - 1)
        .join('')
        .trimEnd()}…`;
}
