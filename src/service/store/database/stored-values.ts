/** Values as the database stores them. */

/** A row as it will be read after it was written. To have it returned by the database takes longer than to write it. */
export function asStored<Row extends object>(row: Row): Row {
  const stored: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(row)) stored[name] = bindable(value);
  return stored as Row;
}

/** libsql aborts the whole process on a boolean, and cuts a text at its first NUL character without a word. */
export function bindable(value: unknown): unknown {
  if (typeof value === 'boolean') throw new TypeError('A boolean cannot be bound; columns of that kind hold 1 or 0.');
  if (typeof value === 'string' && value.includes('\0')) return value.replaceAll('\0', '\uFFFD');
  return value;
}
