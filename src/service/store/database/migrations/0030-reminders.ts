/** Reminders of human requests that wait too long. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db);
};

const statements = [
  `alter table teams add column remind_after integer`,
  `alter table human_requests add column remind_at integer`,
  `alter table human_requests add column reminders integer not null default 0`,
  `alter table human_requests add column reminded_at text`,
  // The literal status selects it in SQLite; the answered requests, which are many, are not part of it.
  `create index human_requests_to_remind on human_requests (remind_at) where status = 'pending' and remind_at is not null`,
];

export const reminders: Migration = { up };
