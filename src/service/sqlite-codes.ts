/** The result codes of SQLite. https://www.sqlite.org/rescode.html */

const primaryCodes: Readonly<Record<number, string>> = {
  3: 'SQLITE_PERM',
  7: 'SQLITE_NOMEM',
  8: 'SQLITE_READONLY',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  26: 'SQLITE_NOTADB',
};

/** The name of the primary result code, or an empty text. The driver does not name every extended code, such as SQLITE_IOERR_READ. */
export function sqliteKind(error: object): string {
  const { code = '', rawCode } = error as { code?: unknown; rawCode?: unknown };
  const [primaryName] = /^SQLITE_[A-Z]+/.exec(String(code)) ?? [];
  const number = typeof rawCode === 'number' ? rawCode & 0xff : 0;
  return primaryName ?? primaryCodes[number] ?? '';
}
