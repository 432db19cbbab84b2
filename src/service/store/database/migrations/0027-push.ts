/** Push subscriptions of browsers, and the pushes that are still to be sent. Both end with the token of the browser's session. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db);
};

const statements = [
  `create table push_subscriptions (
    id text not null primary key,
    team_id text not null references teams (id),
    token_hash text not null references tokens (hash) on delete cascade,
    endpoint_hash text not null unique,
    sealed text not null,
    site text not null,
    created_at text not null
  )`,
  `create index push_subscriptions_by_team on push_subscriptions (team_id)`,
  `create index push_subscriptions_by_token on push_subscriptions (token_hash)`,
  `create table push_messages (
    subscription_id text not null references push_subscriptions (id) on delete cascade,
    request_id text not null references human_requests (id) on delete cascade,
    tries integer not null,
    due_at bigint not null,
    primary key (subscription_id, request_id)
  )`,
  `create index push_messages_by_request on push_messages (request_id)`,
];

export const push: Migration = { up };
