/** For services with many runs: stored totals, the runs in the order of their end, and the totals of removed runs. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db);
};

const statements = [
  `create table run_totals (
    team_id text not null references teams (id),
    agent_id text not null references agents (id),
    status text not null,
    source text not null,
    runs integer not null,
    primary key (team_id, agent_id, status, source)
  )`,
  `insert into run_totals select team_id, agent_id, status, source, count(*) from runs group by team_id, agent_id, status, source`,
  `create index runs_ended on runs (completed_at) where completed_at is not null`,
  `create index runs_by_source_status on runs (team_id, source, status, created_at, run_number)`,
  `alter table teams add column last_removed_run integer not null default 0`,
  `create table removed_runs (
    team_id text not null references teams (id),
    period text not null,
    status text not null,
    runs integer not null,
    primary key (team_id, period, status)
  )`,
];

export const operations: Migration = { up };
