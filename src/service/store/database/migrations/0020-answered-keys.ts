/** An idempotency key is stored with its answer or not at all, so that none is left in progress by a process that was killed. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db);
};

const statements = [
  `create table answered_keys (
    credential_id text not null references credentials (id),
    key text not null,
    fingerprint text not null,
    status integer not null,
    content_type text not null,
    location text,
    body text not null,
    request_id text not null,
    expires_at bigint not null,
    size integer not null,
    primary key (credential_id, key)
  )`,
  `insert into answered_keys
    select credential_id, key, fingerprint, status, coalesce(content_type, ''), location, coalesce(body, ''), request_id, expires_at, size
    from idempotency_keys where status is not null`,
  'drop table idempotency_keys',
  'alter table answered_keys rename to idempotency_keys',
  'create index idempotency_keys_expiry on idempotency_keys (expires_at)',
];

export const answeredKeys: Migration = { up };
