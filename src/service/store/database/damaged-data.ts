/** Stored data that can no longer be read, for example after a disk failure. Only the operation that needs the data fails. */

export class DamagedDataError extends Error {
  readonly code = 'data_damaged';

  constructor(problem: string, options?: ErrorOptions) {
    super(`Stored data is damaged: ${problem}. Restore a backup with \`aops local restore\`.`, options);
    this.name = 'DamagedDataError';
  }
}

/** Converts the error of a query if it means that the database is damaged; returns other errors unchanged. */
export function damageIn(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (!code.startsWith('SQLITE_CORRUPT') && code !== 'SQLITE_NOTADB') return error;
  return new DamagedDataError((error as Error).message, { cause: error });
}
