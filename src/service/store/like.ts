/** A text as part of a LIKE pattern with `escape '\'`. */
export const escapeLike = (text: string): string => text.replace(/[\\%_]/g, '\\$&');
