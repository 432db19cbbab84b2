/**
 * Which versions can use a database together. During an upgrade, nodes of two versions work on the same database: the newer one migrates
 * it, and the older ones continue. So migrations of a release only add; what nothing uses any more is removed by a later release. Such a
 * migration is listed in `oldestReaders`, together with the oldest schema that a process must know to work without it.
 */

/** The schema from which on databases can be used by several nodes. Every process must know it. */
export const firstSharedSchema = '0031-run-search';

/** The oldest schema that a process must know to use a database with these migrations. */
export function oldestReader(applied: readonly string[], oldestReaders: Readonly<Record<string, string>>): string {
  const required = applied.map((name) => oldestReaders[name] ?? firstSharedSchema);
  return required.reduce((newest, name) => (name > newest ? name : newest), firstSharedSchema);
}

/** Whether a process that knows these migrations can use a database that requires a schema; never if it requires none. */
export const canRead = (known: readonly string[], required: string | undefined): boolean =>
  required !== undefined && required <= (known.at(-1) ?? '');
