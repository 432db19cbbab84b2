/**
 * The table in which nodes count the requests of each caller. It is not part of the log of the database, because it is written often and
 * may be empty after a crash.
 */
import { type Kysely, type Migration, sql } from 'kysely';

const statement = `create unlogged table rate_windows (
  name text not null,
  caller text not null,
  ends_at bigint not null,
  taken bigint not null,
  primary key (name, caller)
)`;

export const rateWindows: Migration = {
  up: async (db: Kysely<never>): Promise<void> => {
    await sql.raw(statement).execute(db);
  },
};
