/** A text as part of a LIKE pattern with `escape '\'`. */
export const escapeLike = (text: string): string => text.replace(/[\\%_]/g, '\\$&');

/** A group of an id, and more of it: a shorter text is rather a word. */
const idPart = /^[0-9a-f-]{8,}$/;

/** The LIKE pattern for ids that contain a text, if it may be part of one. Ids of one time begin alike, so it may be any part. */
export const idsWith = (text: string): string | undefined => (idPart.test(text) ? `%${text}%` : undefined);
