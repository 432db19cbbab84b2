/** How many times in a row a schedule started no run because a connection was missing. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db);
};

const statements = [
  'alter table schedules add column missing_connection_failures integer not null default 0',
  'alter table schedules add column first_missing_connection_at text',
  'alter table schedules add column last_missing_connection_at text',
];

export const missingConnections: Migration = { up };
