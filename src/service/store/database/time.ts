/** Times in the formats of the tables. */

/** ISO 8601 in UTC with milliseconds, so that texts sort like times. */
export const isoTime = (milliseconds: number): string => new Date(milliseconds).toISOString();
