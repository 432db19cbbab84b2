/**
 * Lets another process copy the database file while this one continues to write: all changes are moved into the file, and later ones
 * stay in the write-ahead log next to it.
 */
import { sql } from 'kysely';
import type { Store } from '../database.ts';
import { logPages } from './write-ahead-log.ts';

/** Holds and releases the file of a database. */
export const fileCopies = (store: Store) => ({ hold: () => holdFile(store), release: () => releaseFile(store) });

/** From now on the file contains the database of this moment. Nothing in this process may read it, because that would release its lock. */
export async function holdFile(store: Store): Promise<void> {
  await sql`pragma wal_autocheckpoint = 0`.execute(store);
  if (await checkpoint(store)) return;
  await releaseFile(store);
  throw new Error('The write-ahead log could not be moved into the database.');
}

/** From now on, changes are written to the file again. */
async function releaseFile(store: Store): Promise<void> {
  await sql`pragma wal_autocheckpoint = ${sql.lit(logPages)}`.execute(store);
  await checkpoint(store);
}

/** Moves all changes into the file. Resolves to whether the log is empty. */
async function checkpoint(store: Store): Promise<boolean> {
  const { rows } = await sql<{ busy: number }>`pragma wal_checkpoint(truncate)`.execute(store);
  return rows[0]?.busy === 0;
}
