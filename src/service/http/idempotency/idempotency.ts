/**
 * Requests with an Idempotency-Key (interface part 8): executed at most once, then answered as before. 2xx and 4xx are stored for
 * 24 hours from the first request. A redirect is not, because it is followed with the same key. After a 5xx nothing has changed in the
 * database. Keys are opaque: quotes are part of a key.
 */
import { ServiceError } from '../../errors.ts';
import type { UnitOfWork } from '../../store/database/database.ts';
import type { IdempotencyKeys, KeyedRequest, Verdict } from '../../store/idempotency/idempotency-keys.ts';
import type { KeyRow } from '../../store/idempotency/key-rows.ts';
import type { Answer } from '../answer.ts';

/**
 * The answer of `execute`, or its stored answer. Throws 409 `idempotency_in_progress`, 400 `idempotency_key_reused`,
 * 503 `idempotency_store_full`; rejects when the changes did not reach the disk, in which case nothing was changed.
 */
export async function answerOnce(
  keys: IdempotencyKeys,
  request: KeyedRequest,
  execute: (unit: UnitOfWork) => Promise<Answer>,
): Promise<Answer> {
  const key = await keys.executeOnce(request, execute, verdict);
  switch (key.state) {
    case 'executed':
      return key.result;
    case 'answered':
      return replay(key.row);
    case 'in_progress':
      throw inProgress();
    case 'reused':
      throw reusedKey();
    case 'full':
      throw storeFull(key.now, key.expiry);
  }
}

function verdict({ status, headers, body }: Answer): Verdict {
  if (status >= 500) return 'undo';
  if (typeof body !== 'string' || (status >= 300 && status < 400)) return 'free';
  const { 'Content-Type': contentType = '', Location: location = null } = headers;
  return { store: { status, contentType, location, body } };
}

const replay = (row: KeyRow): Answer => ({
  status: row.status,
  headers: {
    ...(row.content_type === '' ? {} : { 'Content-Type': row.content_type }),
    ...(row.location === null ? {} : { Location: row.location }),
    'Idempotency-Replayed': 'true',
    'X-Original-Request-Id': row.request_id,
  },
  body: row.body,
});

const inProgress = (): ServiceError =>
  new ServiceError(409, 'idempotency_in_progress', 'A request with this Idempotency-Key is in progress; try again in a moment.', {
    headers: { 'Retry-After': '1' },
  });

const reusedKey = (): ServiceError =>
  new ServiceError(400, 'idempotency_key_reused', 'This Idempotency-Key was used for another request. Use a new key for a new request.');

function storeFull(now: number, expiry: number | undefined): ServiceError {
  const wait = expiry === undefined ? 1 : Math.max(1, Math.ceil((expiry - now) / 1_000));
  return new ServiceError(
    503,
    'idempotency_store_full',
    'This credential has reached the maximum number of stored idempotency keys, so nothing was done. Keys expire 24 hours after their first request.',
    { headers: { 'Retry-After': String(wait) } },
  );
}
