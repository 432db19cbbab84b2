/** Tables for the content of files, which only Postgres keeps. */
import { type Kysely, type Migration, sql } from 'kysely';

const statements = [
  // The size is null until the file is complete.
  `create table files (
    key text primary key,
    size integer
  )`,
  `create table file_chunks (
    key text not null references files (key) on delete cascade,
    number integer not null,
    content bytea not null,
    primary key (key, number)
  )`,
  // Not compressed, so that a part of a chunk can be read alone: most files that are worth storing are compressed already.
  `alter table file_chunks alter column content set storage external`,
];

export const fileContent: Migration = {
  up: async (db: Kysely<never>): Promise<void> => {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
