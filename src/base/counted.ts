/** Numbers of things, in words. */

/** `1 file`, `2 files`; how the plural is written where it is not with an s alone. */
export const counted = (count: number, what: string, many = `${what}s`): string => `${count} ${count === 1 ? what : many}`;
