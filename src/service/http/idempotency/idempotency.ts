/**
 * At most one execution for each Idempotency-Key (interface part 8). 2xx and 4xx are kept and replayed for 24 hours from the
 * first request, all others are forgotten: a redirect is followed with the key that it was asked for with. Keys are opaque: quotes in them are part of them.
 */

import type { Clock } from '../../../base/clock.ts';
import { ServiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Queries, Store } from '../../store/database/database.ts';
import {
  findKey,
  forgetExpiredKeys,
  forgetStaleKey,
  type IdempotencyRow,
  type KeyId,
  nextExpiry,
} from '../../store/idempotency/idempotency.ts';
import { KeyLedger, type LedgerKey } from '../../store/idempotency/key-ledger.ts';
import type { Answer } from '../answer.ts';
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
  readonly #ledger: KeyLedger;
  /** Fingerprints of the requests that this process is handling. As long as it lives, no lease of theirs ends. */
  readonly #inFlight = new Map<string, string>();
  readonly #kept: KeptKeys;
  #cleanedAt = 0;

  constructor(parts: { store: Store; clock: Clock; owner: string; log: Log; bounds?: IdempotencyBounds | undefined }) {
    this.#kept = new KeptKeys(parts.bounds);
    this.#store = parts.store.early;
    this.#clock = parts.clock;
    this.#owner = parts.owner;
    this.#ledger = new KeyLedger(this.#store, parts.log);
  }

  /** The answer of `execute`, or the one it gave before. `execute` never throws. */
  async answer(request: KeyedRequest, execute: () => Promise<Answer>): Promise<Answer> {
    const name = JSON.stringify([request.credentialId, request.key]);
    const current = this.#inFlight.get(name);
    if (current !== undefined) throw current === request.fingerprint ? inProgress() : reused();
    // In the same tick as the look-up: of two requests at once only one gets here.
    this.#inFlight.set(name, request.fingerprint);
    try {
      const earlier = await this.#earlier(request);
      if (earlier !== undefined) return replay(request, earlier);
      const now = this.#clock.now();
      const key = { ...request, owner: this.#owner, leaseUntil: now + crashLease, expiresAt: now + life };
      return await this.#execute(key, execute);
    } finally {
      this.#inFlight.delete(name);
    }
  }

  /** Forgets the answers whose time is over, on a service that nobody writes to as well: some hold a secret. */
  async forgetExpired(): Promise<void> {
    const now = this.#clock.now();
    this.#cleanedAt = now;
    this.#kept.forget(await forgetExpiredKeys(this.#store, now));
  }

  /** What was answered before; undefined when the key is new and has been counted. Throws 503 `idempotency_store_full`. */
  async #earlier(request: KeyedRequest): Promise<IdempotencyRow | undefined> {
    const now = this.#clock.now();
    try {
      // Mostly a key is new and there is nothing else to do, for which one look is enough.
      if (this.#kept.hasRoom(request.credentialId) && now - this.#cleanedAt < cleaningInterval) {
        // Before the look: of many at once, no more are let in than there is room for.
        this.#kept.count(request.credentialId, 1, 0);
        if ((await findKey(this.#store, request)) === undefined) return undefined;
        this.#kept.count(request.credentialId, -1, 0);
      }
      const found = await this.#store.transaction().execute((trx) => this.#earlierIn(trx, request, now));
      if (found !== 'full') return found;
    } catch (error) {
      // What was counted has not come to pass.
      this.#kept.recount();
      throw error;
    }
    throw storeFull(now, await nextExpiry(this.#store, request.credentialId));
  }

  async #earlierIn(trx: Queries, request: KeyedRequest, now: number): Promise<IdempotencyRow | undefined | 'full'> {
    await this.#kept.load(trx);
    if (now - this.#cleanedAt >= cleaningInterval || this.#kept.isFull(request.credentialId)) {
      this.#cleanedAt = now;
      this.#kept.forget(await forgetExpiredKeys(trx, now));
    }
    this.#kept.forget(await forgetStaleKey(trx, request, now));
    const earlier = await findKey(trx, request);
    if (earlier !== undefined) return earlier;
    if (this.#kept.isFull(request.credentialId)) return 'full';
    this.#kept.count(request.credentialId, 1, 0);
    return undefined;
  }

  /** Executes a request. What was done, and that it was done under this key, reach the disk before anybody is told. */
  async #execute(key: LedgerKey, execute: () => Promise<Answer>): Promise<Answer> {
    try {
      this.#ledger.claim(key);
      const answer = await execute();
      await this.#keep(key, answer);
      await this.#store.durability.settled(key.mark);
      return answer;
    } catch (error) {
      this.#kept.recount();
      await this.#ledger.release(key).catch(() => undefined);
      throw error;
    }
  }

  async #keep(key: LedgerKey, { status, headers, body }: Answer): Promise<void> {
    // What was done may be lost; its answer must not outlive it.
    const isLost = this.#store.durability.hasFailed(key.mark);
    if (isLost || !isKept(status) || typeof body !== 'string') {
      await this.#ledger.release(key);
      this.#kept.count(key.credentialId, -1, 0);
      return;
    }
    const { 'Content-Type': contentType = '', Location: location = null } = headers;
    this.#ledger.answer(key, { status, contentType, location, body });
    this.#kept.count(key.credentialId, 0, body.length);
  }
}

const isKept = (status: number): boolean => (status >= 200 && status < 300) || (status >= 400 && status < 500);

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
