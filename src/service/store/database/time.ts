/** Instants in the forms the tables hold. */

/** ISO 8601 in UTC with milliseconds, so that texts compare as instants do. */
export const isoTime = (milliseconds: number): string => new Date(milliseconds).toISOString();
