/** The repositories on which runs work, one for each sandbox that has one. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db);
};

const statements = [
  `create table sandbox_repositories (
    sandbox_id text primary key references sandboxes (id) on delete cascade,
    team_id text not null references teams (id),
    kind text not null,
    source text not null,
    ref text,
    commit_id text,
    base_branch text,
    branch text not null,
    uncommitted_files integer not null,
    ready_at text,
    created_at text not null
  )`,
];

export const repositories: Migration = { up };
