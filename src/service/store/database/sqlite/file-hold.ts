/**
 * Lets another process copy the file of the database while this one continues to write: everything is brought into the file, and
 * what is written from then on stays in the write-ahead log next to it.
 */
import { sql } from 'kysely';
import type { Store } from '../database.ts';
import { logPages } from './write-ahead-log.ts';

/** Holds the file of a database, and lets it go. */
export const fileCopies = (store: Store) => ({ hold: () => holdFile(store), letGo: () => letFileGo(store) });

/** From now on the file is the database of this moment. Nothing reads it in this process: that would give up the lock on it. */
export async function holdFile(store: Store): Promise<void> {
  await sql`pragma wal_autocheckpoint = 0`.execute(store);
  if (await bringIn(store)) return;
  await letFileGo(store);
  throw new Error('The write-ahead log could not be brought into the database.');
}

/** The file follows what is written again. */
async function letFileGo(store: Store): Promise<void> {
  await sql`pragma wal_autocheckpoint = ${sql.lit(logPages)}`.execute(store);
  await bringIn(store);
}

/** Whether everything is in the file, and the log is empty. */
async function bringIn(store: Store): Promise<boolean> {
  const { rows } = await sql<{ busy: number }>`pragma wal_checkpoint(truncate)`.execute(store);
  return rows[0]?.busy === 0;
}
