/** Schedules, memory files, and evaluation rubrics of agents, and the evaluations of runs. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db);
};

const statements = [
  `create table schedules (
    id text primary key,
    agent_id text not null references agents (id),
    build_id text not null references builds (id),
    credential_id text not null references credentials (id),
    enabled integer not null,
    frequency text not null,
    time text,
    timezone text not null,
    day text,
    day_of_month integer,
    cron text,
    source text,
    task text,
    recurring integer,
    next_at bigint,
    last_run_at text,
    last_run_id text,
    last_error text,
    failures integer not null default 0,
    auto_disabled_at text,
    auto_disabled_reason text,
    created_at text not null,
    updated_at text not null
  )`,
  `create index schedules_by_agent on schedules (agent_id, created_at, id)`,
  `create table memory_files (
    agent_id text not null references agents (id),
    path text not null,
    content text not null,
    size integer not null,
    generation integer not null,
    source_type text not null,
    source_run_id text,
    source_user_id text,
    created_at text not null,
    updated_at text not null,
    primary key (agent_id, path)
  )`,
  // The empty text is the scope of the whole agent: null would be different from itself.
  `create table rubrics (
    id text primary key,
    agent_id text not null references agents (id),
    build_id text not null,
    slug text not null,
    title text not null,
    description text not null,
    sort_order integer not null,
    created_at text not null,
    updated_at text not null,
    deleted_at text
  )`,
  `create unique index rubrics_slug on rubrics (agent_id, build_id, slug) where deleted_at is null`,
  `create table evaluations (
    run_id text primary key references runs (id),
    status text not null,
    passed integer not null,
    total integer not null,
    critical integer not null,
    medium integer not null,
    low integer not null,
    issues integer not null,
    comment text,
    results text not null,
    created_at text not null,
    updated_at text not null
  )`,
  `create index evaluations_with_issues on evaluations (run_id) where issues > 0`,
  // Existing agents had no memory, and it is not turned on for them.
  `update agents set agentic_memory_enabled = null where agentic_memory_enabled = 0`,
];

export const agentsMore: Migration = { up };
