/** The messages to and from the thread that reads the database. */
import type { ResultColumn } from '../packed-rows.ts';

export interface ReaderOptions {
  /** The database file. */
  readonly file: string;
  /** The location of libsql. */
  readonly libsql: string;
}

export interface ReaderRequest {
  readonly id: number;
  readonly sql: string;
  readonly parameters: readonly unknown[];
  /** `rows` for SQL written by hand; otherwise the rows are packed. */
  readonly format: 'packed' | 'first packed' | 'rows';
}

export type ReaderResponse = { readonly id: number } & (
  | { readonly columns: readonly ResultColumn[]; readonly bytes: Uint8Array | null }
  | { readonly columns: readonly ResultColumn[]; readonly rows: readonly unknown[][] }
  | { readonly problem: { readonly message: string; readonly code: string | undefined } }
);
