/** How far the programs of a run were confined. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  await sql.raw('alter table runs add column exec_level text').execute(db);
};

export const execLevel: Migration = { up };
