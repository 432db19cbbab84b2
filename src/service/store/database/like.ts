/** Escapes a text for a LIKE pattern with `escape '\'`. */
export const escapeLike = (text: string): string => text.replace(/[\\%_]/g, '\\$&');

/** The length of an ID's first group and a little more: a shorter text is more likely a word. */
const idPart = /^[0-9a-f-]{8,}$/;

/** The LIKE pattern for IDs that contain a text, if it can be part of an ID. It can be any part, because IDs of one time begin alike. */
export const idsWith = (text: string): string | undefined => (idPart.test(text) ? `%${text}%` : undefined);
