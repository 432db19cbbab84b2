/** Numbers each asking and each settling of a human request within its team, so that a reader of them can continue exactly. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db);
};

const statements = [
  `alter table teams add column last_request_event integer not null default 0`,
  `create table request_events (
    team_id text not null references teams (id),
    number integer not null,
    run_id text not null references runs (id),
    request_id text not null references human_requests (id),
    change text not null,
    primary key (team_id, number)
  )`,
  `create index request_events_by_request on request_events (request_id)`,
  `create index request_events_by_run on request_events (run_id)`,
  // What is pending now was asked in this order.
  `insert into request_events (team_id, number, run_id, request_id, change)
    select runs.team_id, row_number() over (partition by runs.team_id order by human_requests.created_at, human_requests.id),
      runs.id, human_requests.id, 'asked'
    from human_requests join runs on runs.id = human_requests.run_id where human_requests.status = 'pending'`,
  `update teams set last_request_event = (select count(*) from request_events where request_events.team_id = teams.id)`,
];

export const requestEvents: Migration = { up };
