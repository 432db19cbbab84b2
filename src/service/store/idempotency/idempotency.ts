/** Idempotency keys and the responses first given under them (interface part 8). */

import type { CompiledQuery, Insertable, Selectable } from 'kysely';
import type { Queries } from '../database/database.ts';
import { prepared } from '../database/prepared.ts';
import type { IdempotencyKeysTable } from '../database/schema.ts';

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

/** A key that a request holds, and its answer when it has one. */
export interface HeldKey extends KeyId {
  readonly fingerprint: string;
  readonly requestId: string;
  /** Process that handles it, and the milliseconds until which its silence is not taken for its death. */
  readonly owner: string;
  readonly leaseUntil: number;
  readonly expiresAt: number;
  answer?: KeptAnswer;
}

export interface KeptAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly location: string | null;
  readonly body: string;
}

const keptColumns = [
  'credential_id',
  'key',
  'fingerprint',
  'request_id',
  'owner',
  'lease_until',
  'expires_at',
  'status',
  'content_type',
  'location',
  'body',
  'size',
] as const;

const valuesOf = ({ credentialId, key, fingerprint, requestId, owner, leaseUntil, expiresAt, answer }: HeldKey): unknown[] => [
  credentialId,
  key,
  fingerprint,
  requestId,
  owner,
  leaseUntil,
  expiresAt,
  answer?.status ?? null,
  answer?.contentType ?? null,
  answer?.location ?? null,
  answer?.body ?? null,
  answer?.body.length ?? 0,
];

/** Rows for each statement: many rows take less time in one, and every number of them is a statement of its own. */
const rowsAtOnce = [32, 8, 1];
const keepers = new Map<number, CompiledQuery>();

/** Changes that keep these keys as they are now, and how many of the keys each is about. */
export function* keepKeys<Key extends HeldKey>(db: Queries, keys: readonly Key[]): Generator<{ query: CompiledQuery; of: readonly Key[] }> {
  let from = 0;
  for (const rows of rowsAtOnce)
    for (; keys.length - from >= rows; from += rows) {
      const of = keys.slice(from, from + rows);
      yield { of, query: { ...keeper(db, rows), parameters: of.flatMap(valuesOf) } };
    }
}

/** Compiled once; only the values differ. */
function keeper(db: Queries, rows: number): CompiledQuery {
  const known = keepers.get(rows);
  if (known !== undefined) return known;
  const row = Object.fromEntries(keptColumns.map((name) => [name, ''])) as unknown as Insertable<IdempotencyKeysTable>;
  const answerColumns = ['status', 'content_type', 'location', 'body', 'size'] as const;
  const query = db
    .insertInto('idempotency_keys')
    .values(Array.from({ length: rows }, () => row))
    .onConflict((conflict) =>
      conflict
        .columns(['credential_id', 'key'])
        .doUpdateSet((set) => Object.fromEntries(answerColumns.map((name) => [name, set.ref(`excluded.${name}`)]))),
    )
    .compile();
  keepers.set(rows, query);
  return query;
}

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
