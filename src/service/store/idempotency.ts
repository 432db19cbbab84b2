/** Idempotency keys and the responses first given under them (interface part 8). */

import type { Insertable, Selectable } from 'kysely';
import type { Queries } from './database.ts';
import type { IdempotencyKeysTable } from './schema.ts';

export type IdempotencyRow = Selectable<IdempotencyKeysTable>;

export interface KeyId {
  credentialId: string;
  key: string;
}

/** Claims a key, or finds who has it. Expired rows, and those of a dead process whose lease is over, make way. */
export async function claimKey(db: Queries, row: Insertable<IdempotencyKeysTable>, now: number): Promise<IdempotencyRow | undefined> {
  await db
    .deleteFrom('idempotency_keys')
    .where('credential_id', '=', row.credential_id)
    .where('key', '=', row.key)
    .where((where) => where.or([where('expires_at', '<=', now), where.and([where('status', 'is', null), where('lease_until', '<=', now)])]))
    .execute();
  const inserted = await db
    .insertInto('idempotency_keys')
    .values(row)
    .onConflict((conflict) => conflict.columns(['credential_id', 'key']).doNothing())
    .returning('key')
    .executeTakeFirst();
  if (inserted !== undefined) return undefined;
  return db
    .selectFrom('idempotency_keys')
    .selectAll()
    .where('credential_id', '=', row.credential_id)
    .where('key', '=', row.key)
    .executeTakeFirstOrThrow();
}

export async function storeResponse(
  db: Queries,
  id: KeyId,
  response: { status: number; contentType: string; location: string | null; body: string },
): Promise<void> {
  await byId(db, id)
    .set({ status: response.status, content_type: response.contentType, location: response.location, body: response.body })
    .execute();
}

/** Forgets a key, so that a retry executes. */
export async function releaseKey(db: Queries, id: KeyId): Promise<void> {
  await db.deleteFrom('idempotency_keys').where('credential_id', '=', id.credentialId).where('key', '=', id.key).execute();
}

export async function forgetExpiredKeys(db: Queries, now: number): Promise<void> {
  await db.deleteFrom('idempotency_keys').where('expires_at', '<=', now).execute();
}

const byId = (db: Queries, id: KeyId) =>
  db.updateTable('idempotency_keys').where('credential_id', '=', id.credentialId).where('key', '=', id.key);
