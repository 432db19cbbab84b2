/**
 * At most one execution for each Idempotency-Key (interface part 8). 2xx and 4xx are kept and replayed for 24 hours from the
 * first request, 5xx are forgotten. Keys are opaque: quotes in them are part of them.
 */

import type { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { ServiceError } from '../errors.ts';
import { errorFields, type Log } from '../log.ts';
import type { Store } from '../store/database.ts';
import { claimKey, forgetExpiredKeys, type IdempotencyRow, type KeyId, releaseKey, storeResponse } from '../store/idempotency.ts';
import type { Answer } from './answer.ts';
import { contentEssence } from './body.ts';

const life = 24 * 60 * 60 * 1_000;
/** How long a key is held for a process that ended in the middle of a request. */
const crashLease = 60_000;
const cleaningInterval = 60_000;

/** The key of a request, from its headers as received; undefined when there is none. Throws 400 `invalid_idempotency_key`. */
export function idempotencyKey(rawHeaders: readonly string[]): string | undefined {
  // node:http joins repeated headers with a comma, which would make one key of two.
  const keys = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 && name.toLowerCase() === 'idempotency-key' ? [rawHeaders[index + 1] ?? ''] : [],
  );
  if (keys.length > 1) throw new ServiceError(400, 'invalid_idempotency_key', 'Send one Idempotency-Key header.');
  const key = keys[0];
  if (key !== undefined && !/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw new ServiceError(400, 'invalid_idempotency_key', 'An Idempotency-Key has 1 to 255 visible ASCII characters and no spaces.');
  }
  return key;
}

/** What makes two requests the same: method, decoded path, sorted query, content type and the very bytes of the body. */
export function fingerprint(request: {
  method: string;
  segments: readonly string[];
  search: URLSearchParams;
  contentType: string | undefined;
  body: Buffer;
}): string {
  const query = [...request.search].map(([name, value]) => JSON.stringify([name, value])).sort();
  const head = [request.method, request.segments, query, contentEssence(request.contentType)];
  return createHash('sha256').update(JSON.stringify(head)).update('\n').update(request.body).digest('hex');
}

export interface KeyedRequest extends KeyId {
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
  #cleanedAt = 0;

  constructor(parts: { store: Store; clock: Clock; owner: string; log: Log }) {
    this.#store = parts.store;
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
      return answer;
    } finally {
      this.#inFlight.delete(name);
    }
  }

  async #claim(request: KeyedRequest): Promise<IdempotencyRow | undefined> {
    const now = this.#clock.now();
    return this.#store.transaction().execute(async (trx) => {
      if (now - this.#cleanedAt >= cleaningInterval) {
        this.#cleanedAt = now;
        await forgetExpiredKeys(trx, now);
      }
      const row = {
        credential_id: request.credentialId,
        key: request.key,
        fingerprint: request.fingerprint,
        request_id: request.requestId,
        owner: this.#owner,
        lease_until: now + crashLease,
        expires_at: now + life,
      };
      return claimKey(trx, row, now);
    });
  }

  async #settle(request: KeyedRequest, answer: Answer): Promise<void> {
    try {
      if (answer.status >= 500 || typeof answer.body !== 'string') return await releaseKey(this.#store, request);
      await storeResponse(this.#store, request, {
        status: answer.status,
        contentType: answer.headers['Content-Type'] ?? '',
        location: answer.headers.Location ?? null,
        body: answer.body,
      });
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
      'Content-Type': earlier.content_type ?? '',
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
