/** Idempotency keys and the responses first given under them (interface part 8). */

import type { Insertable, Selectable } from 'kysely';
import type { Queries } from './database.ts';
import { prepared } from './prepared.ts';
import type { IdempotencyKeysTable } from './schema.ts';

export type IdempotencyRow = Selectable<IdempotencyKeysTable>;

export interface KeyId {
  credentialId: string;
  key: string;
}

/** What a credential keeps. */
export interface KeptUsage {
  records: number;
  /** Length of the responses. */
  bytes: number;
}

/** Removed rows: whose they were, and what they took up. */
type Removed = { credential_id: string; size: number }[];

/** The row of a key. */
export const findKey = (db: Queries, { credentialId, key }: KeyId): Promise<IdempotencyRow | undefined> =>
  byKey.first(db, { credentialId, key });

const byKey = prepared((db, id: KeyId) =>
  db.selectFrom('idempotency_keys').selectAll().where('credential_id', '=', id.credentialId).where('key', '=', id.key),
);

/** Removes the row of a key if it has expired, or is that of a dead process whose lease is over. */
export async function forgetStaleKey(db: Queries, id: KeyId, now: number): Promise<Removed> {
  return db
    .deleteFrom('idempotency_keys')
    .where('credential_id', '=', id.credentialId)
    .where('key', '=', id.key)
    .where((where) => where.or([where('expires_at', '<=', now), where.and([where('status', 'is', null), where('lease_until', '<=', now)])]))
    .returning(['credential_id', 'size'])
    .execute();
}

/** Claims a key. Resolves to whether nobody had it. */
export const claimKey = async (db: Queries, row: ClaimedKey): Promise<boolean> => (await claimed.change(db, row)) > 0;

type ClaimedKey = Required<Pick<Insertable<IdempotencyKeysTable>, (typeof claimedColumns)[number]>>;

const claimedColumns = ['credential_id', 'key', 'fingerprint', 'request_id', 'owner', 'lease_until', 'expires_at'] as const;

const claimed = prepared((db, row: ClaimedKey) =>
  db
    .insertInto('idempotency_keys')
    .values(Object.fromEntries(claimedColumns.map((name) => [name, row[name]])) as ClaimedKey)
    .onConflict((conflict) => conflict.columns(['credential_id', 'key']).doNothing()),
);

export async function storeResponse(
  db: Queries,
  id: KeyId,
  response: { status: number; contentType: string; location: string | null; body: string },
): Promise<void> {
  await answered.change(db, { ...response, credentialId: id.credentialId, key: id.key, size: response.body.length });
}

const answered = prepared(
  (db, given: KeyId & { status: number; contentType: string; location: string | null; body: string; size: number }) =>
    db
      .updateTable('idempotency_keys')
      .set({ status: given.status, content_type: given.contentType, location: given.location, body: given.body, size: given.size })
      .where('credential_id', '=', given.credentialId)
      .where('key', '=', given.key),
);

/** Forgets a key, so that a retry executes. */
export async function releaseKey(db: Queries, id: KeyId): Promise<void> {
  await db.deleteFrom('idempotency_keys').where('credential_id', '=', id.credentialId).where('key', '=', id.key).execute();
}

/** Removes what has expired. */
export async function forgetExpiredKeys(db: Queries, now: number): Promise<Removed> {
  return db.deleteFrom('idempotency_keys').where('expires_at', '<=', now).returning(['credential_id', 'size']).execute();
}

/** What every credential keeps. */
export async function keptUsage(db: Queries): Promise<Map<string, KeptUsage>> {
  const rows = await db
    .selectFrom('idempotency_keys')
    .select((select) => ['credential_id', select.fn.countAll<number>().as('records'), select.fn.sum<number>('size').as('bytes')])
    .groupBy('credential_id')
    .execute();
  return new Map(rows.map((row) => [row.credential_id, { records: Number(row.records), bytes: Number(row.bytes) }]));
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
