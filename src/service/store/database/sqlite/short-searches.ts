/** The sequences in the index of searches of runs (migration 0031), for texts that are shorter than a sequence. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  await sql.raw(`create virtual table run_search_terms using fts5vocab (run_search, 'instance')`).execute(db);
};

export const shortSearches: Migration = { up };
