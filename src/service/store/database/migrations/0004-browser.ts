/** Tool executions with pictures before and after: what was a screenshot's own becomes that of the execution that took it. */
import { type Kysely, type Migration, sql } from 'kysely';

async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `create table tool_executions (
    id text primary key,
    run_id text not null references runs (id),
    turn integer not null,
    event_id text not null,
    seq integer not null,
    tool_name text not null,
    action text,
    input text,
    error text,
    started_at text not null,
    ended_at text not null,
    before_file_id text references run_files (id),
    after_file_id text references run_files (id),
    unique (run_id, turn, event_id)
  )`,
  `create unique index tool_executions_listed on tool_executions (run_id, seq)`,
  `insert into tool_executions
    select id, run_id, turn, event_id, row_number() over (partition by run_id order by started_at, created_at, id),
      tool_name, action, input, null, started_at, created_at, null, id
    from run_files`,
  ...['tool_name', 'action', 'input', 'started_at'].map((column) => `alter table run_files drop column ${column}`),
];

export const browser: Migration = { up };
