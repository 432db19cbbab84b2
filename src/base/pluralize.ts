/** Counts with their noun in the singular or plural. */

/** `1 file`, `2 files`; `plural` is for nouns that take more than an s. */
export const pluralize = (count: number, noun: string, plural = `${noun}s`): string => `${count} ${count === 1 ? noun : plural}`;
