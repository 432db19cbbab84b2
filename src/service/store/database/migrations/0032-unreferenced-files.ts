/** The files in the file store that nothing refers to: those that are being written, and those that have to be removed. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db);
};

const statements = [
  `create table unreferenced_files (
    key text primary key,
    removable integer not null,
    remove_at integer not null
  )`,
  `create index unreferenced_files_by_time on unreferenced_files (remove_at)`,
];

export const unreferencedFiles: Migration = { up };
