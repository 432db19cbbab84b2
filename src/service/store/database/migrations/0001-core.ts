/** Teams, agents, sandboxes, runs, jobs and idempotency keys. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db);
};

// Plain SQL in the subset that SQLite and Postgres share; a released migration never changes.
const statements = [
  `create table settings (name text primary key, value text not null)`,
  `create table teams (id text primary key, name text not null, created_at text not null)`,
  `create table credentials (
    id text primary key,
    team_id text not null references teams (id),
    kind text not null,
    name text not null,
    created_at text not null,
    revoked_at text
  )`,
  `create table tokens (
    hash text primary key,
    credential_id text not null references credentials (id),
    created_at text not null,
    expires_at bigint
  )`,
  `create table agents (
    id text primary key,
    team_id text not null references teams (id),
    name text not null,
    name_folded text not null,
    slack_enabled integer,
    microsoft_teams_enabled integer,
    agentic_memory_enabled integer,
    thread_id text,
    automation_id text,
    live_build_id text,
    pinned_at text,
    created_at text not null,
    updated_at text not null,
    deleted_at text
  )`,
  `create unique index agents_name on agents (team_id, name) where deleted_at is null`,
  `create index agents_listed on agents (team_id, created_at, id) where deleted_at is null`,
  `create table builds (
    id text primary key,
    agent_id text not null references agents (id),
    revision_number integer not null,
    name text not null,
    revision_name text,
    revision_description text,
    config text,
    handover_target_ids text,
    parent_build_id text,
    promoted_at text,
    created_at text not null,
    updated_at text not null,
    unique (agent_id, revision_number)
  )`,
  `create table procedures (hash text primary key, text text not null)`,
  `create table sandboxes (
    id text primary key,
    team_id text not null references teams (id),
    created_at text not null,
    expires_at text,
    removed_at text
  )`,
  `create table runs (
    id text primary key,
    team_id text not null references teams (id),
    agent_id text not null references agents (id),
    build_id text not null references builds (id),
    run_number integer not null,
    title text not null,
    title_folded text not null,
    status text not null,
    source text not null,
    sandbox_id text not null references sandboxes (id),
    runtime text not null,
    procedure_hash text not null references procedures (hash),
    turn integer not null,
    submitted_prompt_count integer not null,
    resume_count integer not null,
    error text,
    webhook_url text,
    created_at text not null,
    updated_at text not null,
    started_at text,
    completed_at text,
    unique (team_id, run_number)
  )`,
  `create index runs_listed on runs (team_id, created_at, run_number)`,
  `create index runs_by_status on runs (team_id, status, created_at, run_number)`,
  `create index runs_by_agent on runs (agent_id, created_at, run_number)`,
  `create index runs_by_agent_status on runs (agent_id, status, created_at, run_number)`,
  `create index runs_by_source on runs (team_id, source, created_at, run_number)`,
  `create index runs_by_sandbox on runs (sandbox_id)`,
  `create table messages (
    run_id text not null references runs (id),
    seq integer not null,
    id text not null,
    turn integer not null,
    event_id text,
    type text not null,
    role text not null,
    text_content text,
    tool_call text,
    tool_result text,
    timestamp text not null,
    primary key (run_id, seq)
  )`,
  `create unique index messages_by_event on messages (run_id, turn, event_id) where event_id is not null`,
  `create index messages_by_role on messages (run_id, role, seq)`,
  `create table journal (
    run_id text not null references runs (id),
    turn integer not null,
    step text not null,
    result text not null,
    created_at text not null,
    primary key (run_id, turn, step)
  )`,
  `create table human_requests (
    id text primary key,
    run_id text not null references runs (id),
    turn integer not null,
    step text not null,
    type text not null,
    title text not null,
    description text,
    questions text,
    status text not null,
    answer text,
    response text,
    responded_at text,
    created_at text not null
  )`,
  `create index human_requests_by_run on human_requests (run_id, turn, created_at)`,
  `create unique index human_requests_pending on human_requests (run_id) where status = 'pending'`,
  `create table run_files (
    id text primary key,
    run_id text not null references runs (id),
    turn integer not null,
    event_id text not null,
    name text not null,
    mime_type text not null,
    size bigint not null,
    sha256 text not null,
    tool_name text not null,
    action text,
    input text,
    started_at text not null,
    created_at text not null,
    unique (run_id, turn, event_id)
  )`,
  `create table jobs (
    id text primary key,
    kind text not null,
    subject_id text not null,
    status text not null,
    due_at bigint not null,
    owner text,
    epoch integer not null default 0,
    attempts integer not null default 0,
    payload text,
    unique (kind, subject_id)
  )`,
  `create index jobs_due on jobs (kind, status, due_at)`,
  `create table idempotency_keys (
    credential_id text not null references credentials (id),
    key text not null,
    fingerprint text not null,
    status integer,
    content_type text,
    location text,
    body text,
    request_id text not null,
    owner text not null,
    lease_until bigint not null,
    expires_at bigint not null,
    primary key (credential_id, key)
  )`,
  `create index idempotency_keys_expiry on idempotency_keys (expires_at)`,
];

export const core: Migration = { up };
