/** What columns are made of. */
import type { ColumnType } from 'kysely';

/** 0 or 1: a boolean bound to libsql ends the process, and Postgres and SQLite disagree on the type. */
export type Flag = 0 | 1;

/** A column that never changes once it is written. */
export type Fixed<T> = ColumnType<T, T, never>;
