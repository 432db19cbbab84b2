/** Who answered each human request. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  await sql.raw('alter table human_requests add column responder_id text').execute(db);
};

export const responders: Migration = { up };
