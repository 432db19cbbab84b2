/**
 * At most one execution for each idempotency key. What a request changes, its key, and its answer are one transaction: after a crash
 * either all of it is there and a retry gets the answer, or nothing is and a retry executes. A key is in progress only in memory.
 */
import type { Clock } from '../../../base/clock.ts';
import type { Store, UnitOfWork } from '../database/database.ts';
import { findKey, insertKey, type KeyId, type KeyRow, nextExpiry, removeExpiredKeys, removeKey } from './key-rows.ts';
import { type IdempotencyBounds, KeyUsage } from './key-usage.ts';

/** How long an answer is stored: 24 hours. */
export const life = 24 * 60 * 60 * 1_000;

export interface KeyedRequest extends KeyId {
  teamId: string;
  /** What makes it the same request as another. */
  fingerprint: string;
  requestId: string;
}

/** An answer as it is stored. */
export interface StoredAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly location: string | null;
  readonly body: string;
}

/** What becomes of an execution: its answer is stored under the key, the key is free again, or everything is taken back as well. */
export type Verdict = { store: StoredAnswer } | 'free' | 'undo';

/** What a key stands for. */
export type KeyState<Result> =
  | { state: 'executed'; result: Result }
  | { state: 'answered'; row: KeyRow }
  /** The same request is being executed. */
  | { state: 'in_progress' }
  /** The key belongs to another request. */
  | { state: 'reused' }
  /** The credential has stored as much as it may until `expiry`, in milliseconds. */
  | { state: 'full'; now: number; expiry: number | undefined };

export interface IdempotencyKeys {
  /** Executes a request, unless its key has been used. Rejects when what was done cannot be committed; then nothing was done. */
  executeOnce<Result>(
    request: KeyedRequest,
    execute: (unit: UnitOfWork) => Promise<Result>,
    judge: (result: Result) => Verdict,
  ): Promise<KeyState<Result>>;
  /** Removes the answers that have expired: some contain a secret. */
  removeExpired(): Promise<void>;
}

/** The keys of a database that only this process has open. */
export class LocalIdempotencyKeys implements IdempotencyKeys {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #usage: KeyUsage;
  /** Fingerprints of the requests that are being executed. */
  readonly #inProgress = new Map<string, string>();

  constructor(parts: { store: Store; clock: Clock; bounds?: IdempotencyBounds | undefined }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#usage = new KeyUsage(parts.bounds);
  }

  async executeOnce<Result>(
    request: KeyedRequest,
    execute: (unit: UnitOfWork) => Promise<Result>,
    judge: (result: Result) => Verdict,
  ): Promise<KeyState<Result>> {
    const name = JSON.stringify([request.credentialId, request.key]);
    const current = this.#inProgress.get(name);
    if (current !== undefined) return { state: current === request.fingerprint ? 'in_progress' : 'reused' };
    // In the same tick as the check: of two requests at the same time only one gets here.
    this.#inProgress.set(name, request.fingerprint);
    try {
      const now = this.#clock.now();
      const row = await findKey(this.#store, request);
      if (row !== undefined && Number(row.expires_at) > now)
        return row.fingerprint === request.fingerprint ? { state: 'answered', row } : { state: 'reused' };
      if (!(await this.#reserve(request.credentialId, now)))
        return { state: 'full', now, expiry: await nextExpiry(this.#store, request.credentialId) };
      return await this.#execute(request, { now, isExpired: row !== undefined }, execute, judge);
    } finally {
      this.#inProgress.delete(name);
    }
  }

  async removeExpired(): Promise<void> {
    this.#usage.remove(await removeExpiredKeys(this.#store, this.#clock.now()));
  }

  async #reserve(credentialId: string, now: number): Promise<boolean> {
    await this.#usage.load(this.#store);
    if (this.#usage.reserve(credentialId)) return true;
    this.#usage.remove(await removeExpiredKeys(this.#store, now));
    return this.#usage.reserve(credentialId);
  }

  async #execute<Result>(
    request: KeyedRequest,
    { now, isExpired }: { now: number; isExpired: boolean },
    execute: (unit: UnitOfWork) => Promise<Result>,
    judge: (result: Result) => Verdict,
  ): Promise<KeyState<Result>> {
    const { credentialId } = request;
    let bytes: number | undefined;
    try {
      const result = await this.#store.atomically(async (unit) => {
        const result = await execute(unit);
        const verdict = judge(result);
        if (verdict === 'undo') throw new RollbackSignal(result);
        if (isExpired) {
          const removedKeys = await removeKey(unit.store, request);
          unit.afterCommit(() => this.#usage.remove(removedKeys));
        }
        if (verdict === 'free') return result;
        await insertKey(unit.store, rowOf(request, verdict.store, now + life));
        bytes = verdict.store.body.length;
        return result;
      });
      return { state: 'executed', result };
    } catch (error) {
      bytes = undefined;
      if (error instanceof RollbackSignal) return { state: 'executed', result: error.result as Result };
      throw error;
    } finally {
      if (bytes === undefined) this.#usage.add(credentialId, -1, 0);
      else this.#usage.add(credentialId, 0, bytes);
    }
  }
}

/** Leaves the unit of work so that it is rolled back. */
export class RollbackSignal extends Error {
  readonly result: unknown;

  constructor(result: unknown) {
    super('The request failed.');
    this.result = result;
  }
}

export const rowOf = (request: KeyedRequest, answer: StoredAnswer, expiresAt: number): KeyRow => ({
  credential_id: request.credentialId,
  key: request.key,
  fingerprint: request.fingerprint,
  status: answer.status,
  content_type: answer.contentType,
  location: answer.location,
  body: answer.body,
  request_id: request.requestId,
  expires_at: expiresAt,
  size: answer.body.length,
});
