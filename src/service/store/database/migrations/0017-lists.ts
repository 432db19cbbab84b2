/** Lists of many runs and cases: indexes that contain the filtered columns, so that filters need not read the rows. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db);
};

const statements = [
  `drop index runs_listed`,
  `create index runs_listed on runs (team_id, created_at, run_number, id, case_id)`,
  `drop index runs_by_agent`,
  `create index runs_by_agent on runs (agent_id, created_at, run_number, id, case_id)`,
  `drop index cases_listed`,
  `create index cases_listed on cases (queue_id, created_at, number, id)`,
  `create index cases_by_status on cases (queue_id, status, created_at, number)`,
  `create index cases_updated on cases (queue_id, updated_at, number)`,
];

export const lists: Migration = { up };
