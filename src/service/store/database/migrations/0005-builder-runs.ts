/** Builder runs, which propose changes to revisions. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db);
};

const statements = [
  `create table builder_runs (
    id text primary key,
    agent_id text not null references agents (id),
    build_id text not null references builds (id),
    number integer not null,
    status text not null,
    mode text not null,
    prompt text not null,
    runtime text not null,
    phase text,
    base_config text,
    proposed_config text,
    questions text,
    answers text not null,
    changes text,
    setup_changes text,
    schedule_suggested integer not null,
    error text,
    resolution text,
    created_at text not null,
    updated_at text not null,
    started_at text,
    completed_at text,
    unique (build_id, number)
  )`,
  `create unique index builder_runs_active on builder_runs (build_id)
    where status in ('running', 'waiting_for_input', 'waiting_for_approve')`,
  `create index builder_runs_by_agent on builder_runs (agent_id)`,
];

export const builderRuns: Migration = { up };
