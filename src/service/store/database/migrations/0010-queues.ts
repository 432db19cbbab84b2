/** Queues, their cases and labels, what happened to cases, the case triggers of agents, and the case of a run. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db);
};

const statements = [
  `create table queues (
    id text primary key,
    team_id text not null references teams (id),
    name text not null,
    description text,
    folder_id text,
    automation_id text,
    created_at text not null,
    updated_at text not null,
    unique (team_id, name)
  )`,
  `create index queues_listed on queues (team_id, created_at, id)`,
  `create table cases (
    id text primary key,
    queue_id text not null references queues (id),
    number integer not null,
    title text not null,
    data text not null,
    search_text text not null,
    status text not null,
    priority integer not null,
    delegated_agent_id text references agents (id),
    claimed_at text,
    claimed_by_run_id text references runs (id),
    completed_at text,
    postponed_to text,
    created_at text not null,
    updated_at text not null
  )`,
  `create index cases_listed on cases (queue_id, created_at, number)`,
  `create index cases_numbered on cases (queue_id, number)`,
  `create index cases_waiting on cases (queue_id, priority, created_at, number) where status = 'pending' and claimed_by_run_id is null`,
  `create index cases_postponed on cases (queue_id, postponed_to) where postponed_to is not null`,
  `create index cases_by_run on cases (claimed_by_run_id) where claimed_by_run_id is not null`,
  `create index cases_delegated on cases (delegated_agent_id) where delegated_agent_id is not null`,
  `create table case_events (
    id text primary key,
    case_id text not null references cases (id),
    seq integer not null,
    type text not null,
    reason text,
    run_id text,
    human_request_id text,
    agent_id text,
    created_at text not null,
    unique (case_id, seq)
  )`,
  `create table queue_labels (
    id text primary key,
    queue_id text not null references queues (id),
    key text not null,
    value text not null,
    color_hue integer not null,
    created_at text not null,
    unique (queue_id, key, value)
  )`,
  `create table case_labels (
    case_id text not null references cases (id),
    label_id text not null references queue_labels (id),
    primary key (case_id, label_id)
  )`,
  `create index case_labels_by_label on case_labels (label_id)`,
  `create table case_triggers (
    id text primary key,
    agent_id text not null unique references agents (id),
    queue_id text not null references queues (id),
    credential_id text not null,
    enabled integer not null,
    concurrency integer,
    created_at text not null,
    updated_at text not null
  )`,
  `create index case_triggers_by_queue on case_triggers (queue_id)`,
  `alter table runs add column case_id text`,
  `create index runs_by_case on runs (case_id, created_at) where case_id is not null`,
];

export const queues: Migration = { up };
