/** Types of columns. */
import type { ColumnType } from 'kysely';

/** 0 or 1: binding a boolean makes libsql end the process, and Postgres and SQLite have different types for it. */
export type Flag = 0 | 1;

/** A column that never changes after it was written. */
export type Fixed<T> = ColumnType<T, T, never>;

/** A column that only the database writes. */
export type Copied<T> = ColumnType<T, never, never>;
