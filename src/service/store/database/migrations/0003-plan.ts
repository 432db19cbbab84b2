/** Plans of teams, and the lane in which a job waits for its turn. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db);
};

const statements = [
  `create table plans (
    team_id text primary key references teams (id),
    name text not null,
    agent_runs integer,
    assignments integer,
    clarity_interviews integer,
    max_concurrent_runs integer not null,
    run_counting_mode text not null,
    features text,
    products text,
    updated_at text not null
  )`,
  `alter table jobs add column lane text`,
  `update jobs set lane = (select runs.team_id from runs where runs.id = jobs.subject_id) where kind = 'run'`,
  `create index jobs_in_lane on jobs (kind, lane, status, due_at)`,
];

export const plan: Migration = { up };
