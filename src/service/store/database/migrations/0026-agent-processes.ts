/** Agents that are processes: their sessions, and the secrets that they get. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db);
};

const statements = [
  `create table agent_sessions (
    run_id text not null primary key references runs (id),
    name text not null,
    version text not null,
    mode text,
    asks integer,
    session_id text not null,
    prompted_messages integer not null,
    usage text,
    updated_at text not null
  )`,
  `create table agent_secrets (
    agent_id text not null references agents (id),
    name text not null,
    value text not null,
    updated_at text not null,
    primary key (agent_id, name)
  )`,
];

export const agentProcesses: Migration = { up };
