/**
 * Indexes for searches of the titles and IDs of runs: sequences of three characters, with which any part of a text is found. They need
 * the extension pg_trgm, which every distribution of Postgres contains. Where it may not be created, searches read all runs of a team.
 */
import { type Kysely, type Migration, sql } from 'kysely';

/**
 * An index of `id` itself would also be used to find the run with an ID, for each of many runs: Postgres believes that this is fast, but
 * it reads every run whose ID has some of the same characters.
 */
const ofFoldedIds = `do $$ begin
  create index run_search_folded_ids on runs using gin (lower(id) gin_trgm_ops);
  drop index if exists run_search_ids;
exception when undefined_object then
  null;
end $$`;

export const searchOfIds: Migration = {
  up: async (db: Kysely<never>): Promise<void> => {
    await sql.raw(ofFoldedIds).execute(db);
  },
};

const statement = `do $$ begin
  create extension if not exists pg_trgm;
  create index run_search_titles on runs using gin (title_folded gin_trgm_ops);
  create index run_search_ids on runs using gin (id gin_trgm_ops);
exception when insufficient_privilege or undefined_file or feature_not_supported then
  raise notice 'pg_trgm is not available: searches of runs read all runs of a team';
end $$`;

export const searchIndexes: Migration = {
  up: async (db: Kysely<never>): Promise<void> => {
    await sql.raw(statement).execute(db);
  },
};
