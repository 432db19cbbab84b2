/**
 * The loop that claims due jobs and runs their handlers, a bounded number of each kind at a time. It extends the leases of the jobs
 * it runs, and sleeps until the next job is due or until it is woken.
 */

import { type Clock, steadyTime, systemClock } from '../../../base/clock.ts';
import { deferred } from '../../../base/deferred.ts';
import { hostTrouble } from '../../host-trouble.ts';
import { errorFields, type Log } from '../../log.ts';
import type { Store } from '../../store/database/database.ts';
import { isShared } from '../../store/database/row-locks.ts';
import {
  type Claim,
  type ClaimedJob,
  claimJob,
  firstDueTimes,
  keepDue,
  limitLeases,
  prolongLease,
  releaseJob,
} from '../../store/jobs/jobs.ts';
import { latestWait } from '../../store/runs/run-queue.ts';
import { type ClaimSlots, claimTurn, claimTurns, type DueKind } from './claim-turns.ts';
import type { Job } from './job.ts';
import { JobCounts } from './job-counts.ts';

/** Why a sleep ends. One error is shared, because each abort would otherwise create its own. */
const wakeReason = new Error('The worker was woken.');

/** Why a handler's signal was aborted. */
export class JobAborted extends Error {
  readonly reason: 'stopped' | 'lost' | 'shutdown';

  constructor(reason: 'stopped' | 'lost' | 'shutdown') {
    super(`The job was aborted: ${reason}.`);
    this.name = 'JobAborted';
    this.reason = reason;
  }
}

export interface WorkerOptions {
  store: Store;
  clock: Clock;
  log: Log;
  /** Names this process in the jobs it holds. */
  owner: string;
  /** Milliseconds. */
  lease?: number;
}

interface Slots extends ClaimSlots {
  run: (job: ClaimedJob, signal: AbortSignal) => Promise<void>;
  onStop: (subjectId: string) => void;
}

/** Tables that, besides the time, decide whether a job may be claimed. */
export const claimTables = ['jobs', 'teams', 'plans'];

interface ActiveJob {
  claim: Claim;
  controller: AbortController;
  leaseUntil: number;
  end: Promise<void>;
}

const retryDelays = [1_000, 5_000, 30_000, 120_000, 600_000];
/** The same for trouble of the host, such as a full disk. It passes, and the jobs should continue soon afterwards. */
const troubleDelays = [1_000, 2_000, 5_000, 10_000];
/** Milliseconds without claims after trouble of the host: each claim would be another failure, and a write that delays others. */
const troublePause = 1_000;

/** What handlers and requests need of the worker. */
export type JobSignals = Pick<Worker, 'wake' | 'nextWake' | 'abort' | 'isWaitedFor'>;

export class Worker {
  readonly counts = new JobCounts();
  readonly #options: WorkerOptions;
  readonly #lease: number;
  readonly #kinds = new Map<string, Slots>();
  /** By kind and subject. */
  readonly #active = new Map<string, ActiveJob>();
  #sleep = new AbortController();
  #nextWake = deferred();
  #loop: Promise<void> | undefined;
  #isClosing = false;
  /** Steady time of the last poll for work; long ago before the start. */
  #polledAt = Number.NEGATIVE_INFINITY;
  /** Wall-clock time of the last poll, which can be later than the current one if the clock was set back. */
  #lastTime = Number.NEGATIVE_INFINITY;
  /** Number of jobs that have ended in this process. Each of them frees capacity for another one. */
  #endedJobs = 0;
  /** Nothing is claimed before this time. */
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** Nothing will be due before `until`, unless the claim tables change from `version`. */
  #idleState = { version: -1, until: Number.NEGATIVE_INFINITY };

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#lease = options.lease ?? 15_000;
  }

  /** Starts to claim and run jobs of these kinds. Call it once. */
  start<Parts>(jobs: readonly Job<Parts>[], parts: Parts): void {
    for (const { kind, concurrency, run, claim, onStop } of jobs) {
      this.#kinds.set(kind, {
        concurrency: typeof concurrency === 'number' ? concurrency : concurrency(parts),
        run: (job, signal) => run(parts, job, signal),
        claim: (trx, claimant) => claim?.(parts, trx, kind, claimant) ?? claimJob(trx, kind, claimant),
        locksMore: claim !== undefined,
        onStop: (subjectId) => onStop?.(parts, subjectId),
        busyCount: 0,
      });
    }
    this.#polledAt = steadyTime(this.#options.clock);
    this.#loop = this.#run();
  }

  /** Whether the worker polls for work, as it does several times during a lease. */
  isAlive(): boolean {
    return !this.#isClosing && steadyTime(this.#options.clock) - this.#polledAt <= 2 * this.#lease;
  }

  /** Polls for due work now. */
  wake(): void {
    this.#sleep.abort(wakeReason);
    const { resolve } = this.#nextWake;
    this.#nextWake = deferred();
    resolve();
  }

  /**
   * Polls for work because another node has changed jobs. Leases of jobs that are among them are checked immediately, because they may
   * have been stopped.
   * @param ids of subjects and jobs
   */
  noticeChanges(ids: readonly unknown[]): void {
    for (const [key, active] of this.#active)
      if (ids.includes(active.claim.id) || ids.includes(key.slice(key.indexOf(' ') + 1))) active.leaseUntil = Number.NEGATIVE_INFINITY;
    this.wake();
  }

  /** Whether due jobs of a kind are waiting for a running one to end. */
  async isWaitedFor(kind: string): Promise<boolean> {
    const { busyCount, concurrency } = this.#kinds.get(kind) as Slots;
    if (busyCount < concurrency) return false;
    const { queuedDueAt } = (await firstDueTimes(this.#options.store, [kind])).get(kind) ?? {};
    return queuedDueAt !== undefined && queuedDueAt <= this.#options.clock.now();
  }

  /** Resolves when the worker is next woken, for handlers that might find more to do while they wait. */
  nextWake(): Promise<void> {
    return this.#nextWake.promise;
  }

  /** Aborts a job that this process is working on, and ends what it has left running for it. */
  abort(kind: string, subjectId: string, reason: JobAborted['reason']): void {
    this.#active.get(keyOf(kind, subjectId))?.controller.abort(new JobAborted(reason));
    this.#kinds.get(kind)?.onStop(subjectId);
  }

  /** Stops claiming, aborts the running jobs, and waits for them, but not longer than `milliseconds`. */
  async close(milliseconds: number): Promise<void> {
    this.#isClosing = true;
    this.wake();
    for (const job of this.#active.values()) job.controller.abort(new JobAborted('shutdown'));
    // A job that was just being claimed still starts, and ends like the others.
    const end = Promise.resolve(this.#loop).then(() => Promise.all([...this.#active.values()].map((job) => job.end)));
    const limit = new AbortController();
    // The limit is real time, whichever clock the jobs use.
    await Promise.race([end, systemClock.sleep(milliseconds, limit.signal).catch(() => undefined)]);
    limit.abort();
  }

  async #run(): Promise<void> {
    while (!this.#isClosing) {
      this.#sleep = new AbortController();
      let pause = this.#lease / 3;
      try {
        // Leases are extended first, and claims use the time from before: after a long pause of the process, even one at this point,
        // its own jobs must not look abandoned.
        const now = this.#options.clock.now();
        await this.#keepLeases();
        await this.#keepDue();
        const remainingPause = this.#pausedUntil - now;
        pause = Math.min(pause, remainingPause > 0 ? remainingPause : await this.#claimDue(now));
        this.#polledAt = steadyTime(this.#options.clock);
      } catch (error) {
        if (this.#isClosing) return;
        this.#options.log('error', 'polling for jobs failed', errorFields(error));
        pause = Math.min(pause, 1_000);
        this.#noteTrouble(error);
      }
      await this.#options.clock.sleep(pause, this.#sleep.signal).catch(() => undefined);
    }
  }

  /** Starts the jobs that were due at a moment. Returns the milliseconds until the next ones are due. */
  async #claimDue(now: number): Promise<number> {
    const { store, clock } = this.#options;
    const version = store.changes.versionOf(claimTables) + this.#endedJobs;
    // Most wake-ups bring no work.
    if (this.#idleState.version === version && now < this.#idleState.until) return this.#idleState.until - now;
    const first = await firstDueTimes(store, [...this.#kinds.keys()]);
    let next = now + this.#lease / 3;
    const dueKinds: DueKind[] = [];
    for (const [kind, slots] of this.#kinds) {
      const { queuedDueAt = Number.POSITIVE_INFINITY, leaseEnd = Number.POSITIVE_INFINITY } = first.get(kind) ?? {};
      const hasAbandoned = leaseEnd <= now;
      if (hasAbandoned || queuedDueAt <= now) dueKinds.push({ kind, slots, hasAbandoned });
      else next = Math.min(next, queuedDueAt);
    }
    const claimant = { owner: this.#options.owner, lease: this.#lease, now };
    for (const turn of claimTurns(dueKinds, isShared(store))) {
      for (let isCut = true; isCut; ) {
        const claims = await store.transaction().execute((trx) => claimTurn(trx, turn, claimant, () => this.#isClosing));
        // Not after the other turns, one of which could fail.
        for (const job of claims.jobs) this.#begin(job, now + this.#lease);
        for (const dueAt of await Promise.all(claims.dueTimes)) next = Math.min(next, dueAt ?? next);
        ({ isCut } = claims);
      }
    }
    this.#idleState = { version, until: next };
    return Math.max(0, next - clock.now());
  }

  #begin(job: ClaimedJob, leaseUntil: number): void {
    const slots = this.#kinds.get(job.kind) as Slots;
    const key = keyOf(job.kind, job.subject_id);
    const previous = this.#active.get(key);
    const controller = new AbortController();
    if (this.#isClosing) controller.abort(new JobAborted('shutdown'));
    slots.busyCount += 1;
    this.counts.add('claimed', job.kind);
    if (job.wasInterrupted) this.counts.add('takenOver', job.kind);
    const active: ActiveJob = { claim: { id: job.id, epoch: job.epoch }, controller, leaseUntil, end: Promise.resolve() };
    this.#active.set(key, active);
    active.end = this.#execute(job, slots.run, controller.signal, previous).finally(() => {
      slots.busyCount -= 1;
      this.#endedJobs += 1;
      if (this.#active.get(key) === active) this.#active.delete(key);
      this.wake();
    });
  }

  async #execute(job: ClaimedJob, run: Slots['run'], signal: AbortSignal, previous: ActiveJob | undefined): Promise<void> {
    // A stopped handler might still be ending when its subject is resumed; the two must not overlap.
    await previous?.end;
    try {
      await run(job, signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#options.log('error', 'a job failed and will be retried', {
        kind: job.kind,
        subject: job.subject_id,
        ...errorFields(error),
      });
      const delays = this.#noteTrouble(error) ? troubleDelays : retryDelays;
      const delay = delays[Math.min(job.attempts, delays.length) - 1] ?? 1_000;
      const dueAt = this.#options.clock.now() + delay;
      await releaseJob(this.#options.store, job, { status: 'queued', dueAt }).catch((failure: unknown) =>
        this.#options.log('error', 'a job could not be released', { kind: job.kind, subject: job.subject_id, ...errorFields(failure) }),
      );
    }
  }

  /** Returns whether a failure is trouble of the host, after which nothing is claimed for a moment. */
  #noteTrouble(error: unknown): boolean {
    const isTrouble = hostTrouble(error) !== undefined;
    if (isTrouble) this.#pausedUntil = this.#options.clock.now() + troublePause;
    return isTrouble;
  }

  /**
   * After the clock was set back, jobs that were already due, or whose workers have ended, would otherwise wait until it reaches that time
   * again.
   */
  async #keepDue(): Promise<void> {
    const { store, clock } = this.#options;
    const now = clock.now();
    const isFirst = this.#lastTime === Number.NEGATIVE_INFINITY;
    // Nobody might have noticed it while all nodes were stopped.
    const lastTime = isFirst ? ((await latestWait(store)) ?? now) : this.#lastTime;
    if (now < lastTime) await keepDue(store, { now, until: lastTime });
    // A single process reclaims all jobs when it starts.
    if (now < lastTime || (isFirst && isShared(store))) await limitLeases(store, { now, lease: this.#lease });
    this.#lastTime = now;
  }

  async #keepLeases(): Promise<void> {
    const now = this.#options.clock.now();
    for (const [key, active] of this.#active) {
      const remaining = active.leaseUntil - now;
      // If more than a lease remains, the clock was set back.
      if (remaining > (this.#lease * 2) / 3 && remaining <= this.#lease) continue;
      if (await prolongLease(this.#options.store, active.claim, now + this.#lease)) active.leaseUntil = now + this.#lease;
      // The handler released the job a moment ago, or another process has taken it. Aborting is right in both cases.
      else {
        this.counts.add('lost', key.slice(0, key.indexOf(' ')));
        active.controller.abort(new JobAborted('lost'));
      }
    }
  }
}

const keyOf = (kind: string, subjectId: string): string => `${kind} ${subjectId}`;
