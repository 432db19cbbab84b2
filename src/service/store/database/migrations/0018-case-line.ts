/** An index in the order in which cases are taken, so that the next case is found quickly however many are waiting. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db);
};

const statements = [
  'alter table cases add column line_rank integer not null default 1',
  'update cases set line_rank = 2 where postponed_to is not null',
  'drop index cases_waiting',
  `create index cases_in_line on cases (queue_id, delegated_agent_id, line_rank, priority desc, created_at, number)
    where status = 'pending' and claimed_by_run_id is null`,
  'drop index cases_postponed',
  `create index cases_postponed on cases (queue_id, postponed_to)
    where line_rank = 2 and status = 'pending' and claimed_by_run_id is null`,
];

export const caseLine: Migration = { up };
