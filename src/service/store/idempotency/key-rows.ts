/** Idempotency keys and the answers that were given under them (interface part 8). */

import type { Selectable } from 'kysely';
import type { Queries } from '../database/database.ts';
import { preparedQuery } from '../database/prepared.ts';
import type { IdempotencyKeysTable } from '../database/schema.ts';

export type KeyRow = Selectable<IdempotencyKeysTable>;

export interface KeyId {
  credentialId: string;
  key: string;
}

/** What a credential has stored. */
export interface StoredUsage {
  records: number;
  /** Length of the answers. */
  bytes: number;
  /** When the first of them expires, in milliseconds. */
  firstExpiry?: number;
}

/** Removed rows: their credential and size. */
export type RemovedKeys = { credential_id: string; size: number }[];

/** The row of a key, which may have expired. */
export const findKey = (db: Queries, { credentialId, key }: KeyId): Promise<KeyRow | undefined> => byKey.first(db, { credentialId, key });

const byKey = preparedQuery((db, id: KeyId) =>
  db.selectFrom('idempotency_keys').selectAll().where('credential_id', '=', id.credentialId).where('key', '=', id.key),
);

/** Stores a key with its answer. Fails when the key is stored already. */
export async function insertKey(db: Queries, row: KeyRow): Promise<void> {
  await insertQuery.send(db, row);
}

const insertQuery = preparedQuery((db, row: KeyRow) =>
  db.insertInto('idempotency_keys').values({
    credential_id: row.credential_id,
    key: row.key,
    fingerprint: row.fingerprint,
    status: row.status,
    content_type: row.content_type,
    location: row.location,
    body: row.body,
    request_id: row.request_id,
    expires_at: row.expires_at,
    size: row.size,
  }),
);

/** Removes the row of a key. */
export async function removeKey(db: Queries, id: KeyId): Promise<RemovedKeys> {
  return db
    .deleteFrom('idempotency_keys')
    .where('credential_id', '=', id.credentialId)
    .where('key', '=', id.key)
    .returning(['credential_id', 'size'])
    .execute();
}

/** Removes what has expired by `now` (milliseconds). */
export async function removeExpiredKeys(db: Queries, now: number): Promise<RemovedKeys> {
  return db.deleteFrom('idempotency_keys').where('expires_at', '<=', now).returning(['credential_id', 'size']).execute();
}

/** What each credential has stored. @param now milliseconds; if specified, keys that have expired by then do not count */
export async function storedUsage(db: Queries, now?: number): Promise<Map<string, StoredUsage>> {
  let query = db.selectFrom('idempotency_keys');
  if (now !== undefined) query = query.where('expires_at', '>', now);
  const rows = await query
    .select(({ fn }) => [
      'credential_id',
      fn.countAll<number>().as('records'),
      fn.sum<number>('size').as('bytes'),
      fn.min<number>('expires_at').as('first'),
    ])
    .groupBy('credential_id')
    .execute();
  return new Map(
    rows.map((row) => [row.credential_id, { records: Number(row.records), bytes: Number(row.bytes), firstExpiry: Number(row.first) }]),
  );
}

/** When the first of a credential's records expires, in milliseconds. */
export async function nextExpiry(db: Queries, credentialId: string): Promise<number | undefined> {
  const row = await db
    .selectFrom('idempotency_keys')
    .select((select) => select.fn.min<number>('expires_at').as('first'))
    .where('credential_id', '=', credentialId)
    .executeTakeFirst();
  return row?.first == null ? undefined : Number(row.first);
}
