/** Scopes, OAuth clients and lifetimes of credentials; deletion of teams; the size of idempotency keys. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(db);
};

const statements = [
  `alter table teams add column deleted_at text`,
  `alter table credentials add column scopes text`,
  `alter table credentials add column secret_hash text`,
  `alter table credentials add column expires_at bigint`,
  `alter table tokens add column scopes text`,
  `create index tokens_by_credential on tokens (credential_id)`,
  `create index tokens_by_expiry on tokens (expires_at)`,
  `alter table idempotency_keys add column size integer not null default 0`,
  `update idempotency_keys set size = length(body) where body is not null`,
];

export const access: Migration = { up };
