/** Connections to remote MCP servers, authorizations in progress, and the connections that runs have used. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db);
};

const statements = [
  `create table connections (
    id text primary key,
    team_id text not null references teams (id),
    name text not null,
    type text not null,
    provider text not null,
    server_url text not null,
    auth_method text not null,
    shared integer not null,
    headers text not null,
    secret_headers text,
    oauth text,
    oauth_scopes text,
    revision integer not null,
    broken_at text,
    broken_reason text,
    created_at text not null,
    updated_at text not null,
    deleted_at text
  )`,
  `create index connections_by_team on connections (team_id, created_at, id)`,
  `create table oauth_flows (
    state_hash text primary key,
    team_id text not null references teams (id),
    connection_id text,
    name text not null,
    type text not null,
    server_url text not null,
    return_url text,
    details text not null,
    expires_at bigint not null
  )`,
  `create index oauth_flows_by_expiry on oauth_flows (expires_at)`,
  `create table run_connections (
    run_id text not null references runs (id),
    connection_id text not null,
    name text not null,
    first_used_at text not null,
    primary key (run_id, connection_id)
  )`,
];

export const connections: Migration = { up };
