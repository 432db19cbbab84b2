/** What a service with many runs needs: totals that need no counting, and the runs that have ended in the order of their end. */
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
  `create index runs_by_source_status on runs (team_id, source, status, created_at, run_number)`,
];

export const operations: Migration = { up };
