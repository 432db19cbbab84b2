/** Columns that contain JSON. */

/** The value of a JSON column that can be NULL. */
export const fromJson = <T>(column: string | null): T | null => (column === null ? null : (JSON.parse(column) as T));
