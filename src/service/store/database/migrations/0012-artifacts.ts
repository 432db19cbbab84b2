/** Artifacts, with their revisions and messages. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db);
};

const statements = [
  `create table artifacts (
    id text primary key,
    team_id text not null references teams (id),
    created_by text not null,
    title text,
    status text not null,
    visibility text not null,
    publish_permission text not null,
    current_revision_id text,
    generation text,
    question text,
    refresh_frequency text,
    last_refresh_at text,
    next_refresh_at text,
    created_at text not null,
    updated_at text not null
  )`,
  `create index artifacts_listed on artifacts (team_id, created_at, id)`,
  `create table artifact_revisions (
    id text primary key,
    artifact_id text not null references artifacts (id),
    version integer not null,
    parent_revision_id text,
    restored_from_version integer,
    spec text not null,
    content text not null,
    created_at text not null,
    unique (artifact_id, version)
  )`,
  `create table artifact_messages (
    id text primary key,
    artifact_id text not null references artifacts (id),
    seq integer not null,
    author_user_id text,
    role text not null,
    content text not null,
    message text,
    revision_id text,
    selected_element text,
    created_at text not null,
    unique (artifact_id, seq)
  )`,
  `create table artifact_connections (
    artifact_id text not null references artifacts (id),
    connection_id text not null,
    created_at text not null,
    primary key (artifact_id, connection_id)
  )`,
];

export const artifacts: Migration = { up };
