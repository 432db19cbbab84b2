/**
 * At most one execution for each Idempotency-Key (interface part 8). 2xx and 4xx are kept and replayed for 24 hours from the
 * first request, 5xx are forgotten. Keys are opaque: quotes in them are part of them.
 */

import type { Clock } from '../../base/clock.ts';
import { ServiceError } from '../errors.ts';
import { errorFields, type Log } from '../log.ts';
import type { Queries, Store } from '../store/database.ts';
import {
  claimKey,
  findKey,
  forgetExpiredKeys,
  forgetStaleKey,
  type IdempotencyRow,
  type KeyId,
  nextExpiry,
  releaseKey,
  storeResponse,
} from '../store/idempotency.ts';
import type { Answer } from './answer.ts';
import { type IdempotencyBounds, KeptKeys } from './idempotency-bounds.ts';

const life = 24 * 60 * 60 * 1_000;
/** How long a key is held for a process that ended in the middle of a request. */
const crashLease = 60_000;
const cleaningInterval = 60_000;

export interface KeyedRequest extends KeyId {
  /** When the request began (store/group-commit.ts): what failed to reach the disk since may be its own. */
  mark: number;
  fingerprint: string;
  requestId: string;
}

export class IdempotencyLayer {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #owner: string;
  readonly #log: Log;
  /** Fingerprints of the requests that this process is handling. As long as it lives, no lease of theirs ends. */
  readonly #inFlight = new Map<string, string>();
  readonly #kept: KeptKeys;
  #cleanedAt = 0;

  constructor(parts: { store: Store; clock: Clock; owner: string; log: Log; bounds?: IdempotencyBounds | undefined }) {
    this.#kept = new KeptKeys(parts.bounds);
    this.#store = parts.store.early;
    this.#clock = parts.clock;
    this.#owner = parts.owner;
    this.#log = parts.log;
  }

  /** The answer of `execute`, or the one it gave before. `execute` never throws. */
  async answer(request: KeyedRequest, execute: () => Promise<Answer>): Promise<Answer> {
    const name = JSON.stringify([request.credentialId, request.key]);
    const current = this.#inFlight.get(name);
    if (current !== undefined) throw current === request.fingerprint ? inProgress() : reused();
    // In the same tick as the look-up: of two requests at once only one gets here.
    this.#inFlight.set(name, request.fingerprint);
    try {
      const earlier = await this.#claim(request);
      if (earlier !== undefined) return replay(request, earlier);
      const answer = await execute();
      await this.#settle(request, answer);
      await this.#onDisk(request);
      return answer;
    } finally {
      this.#inFlight.delete(name);
    }
  }

  /** What was answered before; undefined when the key is this request's now. Throws 503 `idempotency_store_full`. */
  async #claim(request: KeyedRequest): Promise<IdempotencyRow | undefined> {
    const now = this.#clock.now();
    try {
      // Mostly a key is new and there is nothing else to do, for which one statement is enough.
      const isPlain = this.#kept.hasRoom(request.credentialId) && now - this.#cleanedAt < cleaningInterval;
      if (isPlain && (await this.#claimNew(this.#store, request, now))) return undefined;
      const claimed = await this.#store.transaction().execute((trx) => this.#claimIn(trx, request, now));
      if (claimed !== 'full') return claimed;
    } catch (error) {
      // What was counted has not come to pass.
      this.#kept.recount();
      throw error;
    }
    throw storeFull(now, await nextExpiry(this.#store, request.credentialId));
  }

  /** Claims a key that nobody has; whether it is so. */
  async #claimNew(db: Queries, request: KeyedRequest, now: number): Promise<boolean> {
    // Before it is done: of many at once, no more are let in than there is room for.
    this.#kept.count(request.credentialId, 1, 0);
    const claimed = await claimKey(db, {
      credential_id: request.credentialId,
      key: request.key,
      fingerprint: request.fingerprint,
      request_id: request.requestId,
      owner: this.#owner,
      lease_until: now + crashLease,
      expires_at: now + life,
    });
    if (!claimed) this.#kept.count(request.credentialId, -1, 0);
    return claimed;
  }

  async #claimIn(trx: Queries, request: KeyedRequest, now: number): Promise<IdempotencyRow | undefined | 'full'> {
    await this.#kept.load(trx);
    if (now - this.#cleanedAt >= cleaningInterval || this.#kept.isFull(request.credentialId)) {
      this.#cleanedAt = now;
      this.#kept.forget(await forgetExpiredKeys(trx, now));
    }
    if (this.#kept.isFull(request.credentialId)) return (await this.#earlier(trx, request, now)) ?? 'full';
    if (await this.#claimNew(trx, request, now)) return undefined;
    const earlier = await this.#earlier(trx, request, now);
    // Otherwise the one that was there is gone.
    if (earlier === undefined) await this.#claimNew(trx, request, now);
    return earlier;
  }

  /** The row of the key, unless it is stale. */
  async #earlier(trx: Queries, request: KeyedRequest, now: number): Promise<IdempotencyRow | undefined> {
    this.#kept.forget(await forgetStaleKey(trx, request, now));
    return findKey(trx, request);
  }

  /** What was done, and that it was done under this key, reach the disk before anybody is told. */
  async #onDisk({ mark }: KeyedRequest): Promise<void> {
    try {
      await this.#store.durability.settled(mark);
    } catch (error) {
      this.#kept.recount();
      throw error;
    }
  }

  async #settle(request: KeyedRequest, answer: Answer): Promise<void> {
    const { status, headers, body } = answer;
    try {
      const kept = await this.#store.transaction().execute(async (trx) => {
        // Within the transaction: nothing can fail to reach the disk between this look and what is written.
        const isLost = this.#store.durability.hasFailed(request.mark);
        // What was done may be lost; its answer must not outlive it.
        if (isLost || status >= 500 || typeof body !== 'string') {
          await releaseKey(trx, request);
          return false;
        }
        const { 'Content-Type': contentType = '', Location: location = null } = headers;
        await storeResponse(trx, request, { status, contentType, location, body });
        return true;
      });
      if (kept) this.#kept.count(request.credentialId, 0, (body as string).length);
      else this.#kept.count(request.credentialId, -1, 0);
    } catch (error) {
      // What was done is done, and its answer the truth; a retry finds the key held until its lease ends.
      this.#log('error', 'a response could not be kept under its idempotency key', { request: request.requestId, ...errorFields(error) });
    }
  }
}

function replay(request: KeyedRequest, earlier: IdempotencyRow): Answer {
  if (earlier.fingerprint !== request.fingerprint) throw reused();
  if (earlier.status === null) throw inProgress();
  return {
    status: earlier.status,
    headers: {
      ...(earlier.content_type ? { 'Content-Type': earlier.content_type } : {}),
      ...(earlier.location === null ? {} : { Location: earlier.location }),
      'Idempotency-Replayed': 'true',
      'X-Original-Request-Id': earlier.request_id,
    },
    body: earlier.body ?? '',
  };
}

const inProgress = (): ServiceError =>
  new ServiceError(409, 'idempotency_in_progress', 'A request with this Idempotency-Key is being handled; try again in a moment.', {
    headers: { 'Retry-After': '1' },
  });

const reused = (): ServiceError =>
  new ServiceError(400, 'idempotency_key_reused', 'This Idempotency-Key was used for another request. Use a new key for a new request.');

function storeFull(now: number, expiry: number | undefined): ServiceError {
  const wait = expiry === undefined ? 1 : Math.max(1, Math.ceil((expiry - now) / 1_000));
  return new ServiceError(
    503,
    'idempotency_store_full',
    'This credential has as many idempotency keys as the service keeps, and nothing was done. Keys end 24 hours after their first request.',
    { headers: { 'Retry-After': String(wait) } },
  );
}
