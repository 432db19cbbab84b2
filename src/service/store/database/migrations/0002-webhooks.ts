/** Webhook subscriptions and secrets, the events that are to be delivered, and what became of them. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db);
};

const statements = [
  `create table webhook_secrets (
    id text primary key,
    team_id text not null references teams (id),
    secret text not null,
    created_at text not null,
    expires_at bigint
  )`,
  `create unique index webhook_secrets_current on webhook_secrets (team_id) where expires_at is null`,
  `create index webhook_secrets_by_team on webhook_secrets (team_id)`,
  `create table webhook_subscriptions (
    id text primary key,
    team_id text not null references teams (id),
    url text not null,
    events text not null,
    description text,
    enabled integer not null,
    disabled_reason text,
    disabled_at text,
    failures integer not null,
    failing_since bigint,
    held_until bigint,
    last_delivered_at text,
    created_at text not null,
    updated_at text not null,
    deleted_at text
  )`,
  `create index webhook_subscriptions_listed on webhook_subscriptions (team_id, created_at, id) where deleted_at is null`,
  `create table events (
    id text primary key,
    team_id text not null references teams (id),
    kind text not null,
    run_id text,
    payload text not null,
    created_at text not null
  )`,
  `create table deliveries (
    id text primary key,
    seq integer not null,
    team_id text not null references teams (id),
    event_id text not null references events (id),
    kind text not null,
    run_id text,
    subscription_id text references webhook_subscriptions (id),
    endpoint text not null,
    url text not null,
    status text not null,
    tries integer not null,
    attempt_count integer not null,
    next_attempt_at bigint,
    last_status_code integer,
    last_error text,
    created_at text not null,
    completed_at text,
    unique (team_id, seq)
  )`,
  `create index deliveries_due on deliveries (endpoint, next_attempt_at) where status = 'pending'`,
  `create index deliveries_by_status on deliveries (team_id, status, seq)`,
  `create index deliveries_by_kind on deliveries (team_id, kind, seq)`,
  `create index deliveries_by_run on deliveries (run_id, seq)`,
  `create index deliveries_by_subscription on deliveries (subscription_id, seq)`,
  `create index deliveries_by_event on deliveries (event_id)`,
  `create index deliveries_completed on deliveries (completed_at)`,
  `create table delivery_attempts (
    delivery_id text not null references deliveries (id),
    number integer not null,
    started_at text not null,
    duration_ms integer not null,
    status_code integer,
    error text,
    response_body text,
    primary key (delivery_id, number)
  )`,
];

export const webhooks: Migration = { up };
