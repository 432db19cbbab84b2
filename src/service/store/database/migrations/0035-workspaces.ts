/** The record of the files in sandboxes, for services with several nodes. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db);
};

const statements = [
  // The node that works with the files, and how often their record has changed.
  `alter table sandboxes add column holder text`,
  `alter table sandboxes add column version integer not null default 0`,
  // A sandbox is removed before its record is, in the same transaction.
  `create table workspace_files (
    sandbox_id text not null references sandboxes (id) deferrable initially deferred,
    path text not null,
    folder text not null,
    type text not null,
    mode integer not null,
    modified_at integer not null,
    size integer not null,
    sha256 text,
    is_text integer not null,
    file_key text,
    position integer not null,
    target text,
    version integer not null,
    primary key (sandbox_id, path)
  )`,
  `create index workspace_files_by_folder on workspace_files (sandbox_id, folder)`,
  `create index workspace_files_by_version on workspace_files (sandbox_id, version)`,
];

export const workspaces: Migration = { up };
