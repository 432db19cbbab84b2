/** Stored data that cannot be read any more, as after the failure of a disk. It is the failure of whatever needed it, and of nothing else. */

export class DamagedDataError extends Error {
  readonly code = 'data_damaged';

  constructor(what: string, options?: ErrorOptions) {
    super(`Stored data is damaged: ${what}. Restore a backup with \`aops local restore\`.`, options);
    this.name = 'DamagedDataError';
  }
}

/** The failure of a query in words where it says that the database is damaged; anything else comes back as it is. */
export function damageIn(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (!code.startsWith('SQLITE_CORRUPT') && code !== 'SQLITE_NOTADB') return error;
  return new DamagedDataError((error as Error).message, { cause: error });
}
