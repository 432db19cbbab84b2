/** Opens a copy of a database file, such as the one in a backup. */
import { type Kysely, sql } from 'kysely';
import Libsql from 'libsql';
import type { Database } from '../schema.ts';
import { appliedMigrations } from './migrate.ts';
import { openForReading } from './reader/open.ts';

/**
 * Opens a copy that no other process uses, and checks its integrity. It is read in a separate thread: checking a copy of several
 * gigabytes takes longer than a service holds its data still for a process that does not respond.
 */
export async function openCopy(file: string): Promise<{ store: Kysely<Database>; schema: string; damage: string | undefined }> {
  const database = new Libsql(file);
  // With this mode one file contains everything.
  database.pragma('journal_mode=DELETE');
  database.close();
  const store = openForReading(file);
  try {
    const { rows } = await sql<{ quick_check: string }>`pragma quick_check(1)`.execute(store);
    const result = rows[0]?.quick_check;
    if (result !== 'ok') return { store, schema: '', damage: String(result) };
    return { store, schema: (await appliedMigrations(store)).at(-1) ?? '', damage: undefined };
  } catch (error) {
    await store.destroy();
    throw error;
  }
}
