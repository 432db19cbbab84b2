/**
 * At most one execution for each idempotency key, on a database that several processes use. What a request changes, its key, and its
 * answer are one transaction, which holds a lock on the key from its beginning. So a process that dies leaves nothing in progress.
 */
import { sql } from 'kysely';
import type { Clock } from '../../../base/clock.ts';
import { SingleFlight } from '../../../base/single-flight.ts';
import { ServiceError } from '../../errors.ts';
import type { Queries, Store, UnitOfWork } from '../database/database.ts';
import { preparedQuery } from '../database/prepared.ts';
import { LostCommitError } from '../database/unavailable.ts';
import { type IdempotencyKeys, type KeyedRequest, type KeyState, life, RollbackSignal, rowOf, type Verdict } from './idempotency-keys.ts';
import { findKey, insertKey, type KeyRow, nextExpiry, removeExpiredKeys, removeKey } from './key-rows.ts';
import { type IdempotencyBounds, KeyUsage } from './key-usage.ts';

/** Milliseconds after which the stored keys are counted again, because other processes store keys as well. */
const usageLife = 60_000;

export class SharedIdempotencyKeys implements IdempotencyKeys {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #bounds: IdempotencyBounds | undefined;
  #counted: { readonly usage: KeyUsage; readonly at: number } | undefined;
  /** One for all requests: each would otherwise forget what the others have reserved. */
  readonly #counts = new SingleFlight<KeyUsage>();
  /** Fingerprints of the requests that this process is executing. */
  readonly #inProgress = new Map<string, string>();

  constructor(parts: { store: Store; clock: Clock; bounds?: IdempotencyBounds | undefined }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#bounds = parts.bounds;
  }

  async executeOnce<Result>(
    request: KeyedRequest,
    execute: (unit: UnitOfWork) => Promise<Result>,
    judge: (result: Result) => Verdict,
  ): Promise<KeyState<Result>> {
    const name = nameOf(request);
    const current = this.#inProgress.get(name);
    if (current !== undefined) return { state: current === request.fingerprint ? 'in_progress' : 'reused' };
    this.#inProgress.set(name, request.fingerprint);
    try {
      const now = this.#clock.now();
      const row = await findKey(this.#store, request);
      if (row !== undefined && Number(row.expires_at) > now) return stateOf(row, request);
      const usage = await this.#reserve(request.credentialId, now);
      if (usage === undefined) return { state: 'full', now, expiry: await nextExpiry(this.#store, request.credentialId) };
      let bytes: number | undefined;
      try {
        return await this.#execute(request, now, execute, (result) => {
          const verdict = judge(result);
          if (typeof verdict === 'object') bytes = verdict.store.body.length;
          return verdict;
        });
      } catch (error) {
        bytes = undefined;
        throw error;
      } finally {
        usage.add(request.credentialId, bytes === undefined ? -1 : 0, bytes ?? 0);
      }
    } finally {
      this.#inProgress.delete(name);
    }
  }

  async removeExpired(): Promise<void> {
    await removeExpiredKeys(this.#store, this.#clock.now());
  }

  /**
   * Where the key is counted from now on; undefined if its credential has stored as much as it may. What is stored is counted again if a
   * key of the credential has expired since then, whichever process has removed it.
   */
  async #reserve(credentialId: string, now: number): Promise<KeyUsage | undefined> {
    const usage = await this.#currentUsage(now);
    if (usage.reserve(credentialId)) return usage;
    if (usage.firstExpiry(credentialId) > now) return undefined;
    const newUsage = await this.#countOnce(now);
    return newUsage.reserve(credentialId) ? newUsage : undefined;
  }

  /** What each credential has stored. Other processes can store keys until it is counted again, so the bound is not exact. */
  async #currentUsage(now: number): Promise<KeyUsage> {
    const counted = this.#counted;
    return counted !== undefined && Math.abs(now - counted.at) < usageLife ? counted.usage : this.#countOnce(now);
  }

  #countOnce(now: number): Promise<KeyUsage> {
    return this.#counts.run('', () => this.#count(now));
  }

  async #count(now: number): Promise<KeyUsage> {
    const usage = new KeyUsage(this.#bounds);
    await usage.load(this.#store, now);
    this.#counted = { usage, at: now };
    return usage;
  }

  async #execute<Result>(
    request: KeyedRequest,
    now: number,
    execute: (unit: UnitOfWork) => Promise<Result>,
    judge: (result: Result) => Verdict,
  ): Promise<KeyState<Result>> {
    let refusal: KeyState<Result> | undefined;
    const begin = async (queries: Queries): Promise<void> => {
      refusal = await lockKey(queries, request, now);
      // Expected, so that a handler that answers with it does not log a failure of the service.
      if (refusal !== undefined) throw new ServiceError(409, 'idempotency_in_progress', 'The key is used by another request.');
    };
    try {
      const result = await this.#store.atomically(
        async (unit) => {
          const result = await execute(unit);
          // Whatever its handler answers, it is neither stored nor counted.
          if (refusal !== undefined) throw new RollbackSignal(result);
          const verdict = judge(result);
          if (verdict === 'undo') throw new RollbackSignal(result);
          if (verdict !== 'free') await insertKey(unit.store, rowOf(request, verdict.store, now + life));
          return result;
        },
        { begin, teamId: request.teamId, wasCommitted: (error) => this.#wasCommitted(error, request) },
      );
      return { state: 'executed', result };
    } catch (error) {
      if (refusal !== undefined) return refusal;
      if (error instanceof RollbackSignal) return { state: 'executed', result: error.result as Result };
      throw error;
    }
  }

  /** After a lost connection: the lock is free when the transaction has ended, and then the key shows how it ended. */
  async #wasCommitted(error: unknown, request: KeyedRequest): Promise<boolean> {
    if (!(error instanceof LostCommitError)) return false;
    return this.#store.transaction().execute(async (trx) => {
      await sql`select pg_advisory_xact_lock(hashtextextended(${nameOf(request)}, 0))`.execute(trx);
      return (await findKey(trx, request))?.request_id === request.requestId;
    });
  }
}

/** Locks a key until the transaction ends. Returns why the request must not be executed, if it has been since its key was looked up. */
async function lockKey<Result>(queries: Queries, request: KeyedRequest, now: number): Promise<KeyState<Result> | undefined> {
  // The database looks the key up after the lock, without another answer to wait for.
  const [{ locked }, row] = await Promise.all([tryLock.only(queries, { name: nameOf(request) }), findKey(queries, request)]);
  if (locked !== 1) return { state: 'in_progress' };
  if (row === undefined) return undefined;
  if (Number(row.expires_at) > now) return stateOf(row, request);
  await removeKey(queries, request);
  return undefined;
}

const tryLock = preparedQuery((db, { name }: { name: string }) =>
  db.selectNoFrom(sql<number>`pg_try_advisory_xact_lock(hashtextextended(${name}, 0))`.as('locked')),
);

const nameOf = ({ credentialId, key }: KeyedRequest): string => JSON.stringify([credentialId, key]);

const stateOf = (row: KeyRow, { fingerprint }: KeyedRequest): { state: 'answered'; row: KeyRow } | { state: 'reused' } =>
  row.fingerprint === fingerprint ? { state: 'answered', row } : { state: 'reused' };
