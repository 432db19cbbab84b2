/** What values of JSON are, and the beginnings of texts. */

export type JsonObject = Record<string, unknown>;

/** Whether a value is an object: neither null nor an array. */
export const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A text up to its first line feed. */
export const firstLine = (text: string): string => text.split('\n', 1)[0] as string;
