/** Values as the database stores them. */

/** A row as it will be read after it was written. Letting the database return it takes longer than writing it. */
export function asStored<Row extends object>(row: Row): Row {
  const storedValues: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(row)) storedValues[name] = bindable(value);
  return storedValues as Row;
}

/** libsql aborts the whole process on a boolean, and silently truncates a text at its first NUL character. */
export function bindable(value: unknown): unknown {
  if (typeof value === 'boolean') throw new TypeError('A boolean cannot be bound; such columns contain 1 or 0.');
  return withoutNul(value);
}

/** Postgres rejects NUL characters, and SQLite's driver truncates texts there. */
export const withoutNul = (value: unknown): unknown =>
  typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value;
