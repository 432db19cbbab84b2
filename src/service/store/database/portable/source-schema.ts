/** Decides whether a database can be exported. */

/**
 * The newest migration that was applied, of those that all databases have.
 * @param applied the migrations of the database, oldest first
 * @param known those of this version for this kind of database, and those of all kinds
 * @param refuse the errors for a database that a newer version has written, and for one without tables
 */
export function sourceSchema(
  applied: readonly string[],
  known: { own: object; common: object },
  refuse: { newer(unknown: readonly string[]): Error; empty(): Error },
): string {
  const unknown = applied.filter((name) => !(name in known.own));
  if (unknown.length > 0) throw refuse.newer(unknown);
  const schema = applied.filter((name) => name in known.common).at(-1);
  if (schema === undefined) throw refuse.empty();
  return schema;
}
