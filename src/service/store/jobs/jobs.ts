/**
 * The job queue. Claiming a job grants a lease and an epoch: heartbeats extend the lease, and every write for the job checks the
 * epoch. A job whose owner stops sending heartbeats becomes ordinary due work, so there is no separate recovery.
 */
import { newId } from '../../ids.ts';
import type { Queries } from '../database/database.ts';
import { namesOf, preparedQuery } from '../database/prepared.ts';
import { isShared, lockRows } from '../database/row-locks.ts';
import type { JobRow, JobStatus } from '../database/schema.ts';

/** The right to work on a job, as long as it has not been claimed again or revoked. */
export interface Claim {
  readonly id: string;
  readonly epoch: number;
}

export interface NewJob {
  kind: string;
  subjectId: string;
  dueAt: number;
  payload?: unknown;
  /** Only the first value counts: a job does not change its lane. */
  lane?: string;
}

/** Makes a new or existing job due. A worker that is working on it loses it. */
export async function enqueueJob(db: Queries, { kind, subjectId, dueAt, ...job }: NewJob): Promise<void> {
  const payload = job.payload === undefined ? null : JSON.stringify(job.payload);
  await enqueueQuery.send(db, { id: newId(), kind, subjectId, dueAt, payload, lane: job.lane ?? null });
}

interface EnqueueValues {
  id: string;
  kind: string;
  subjectId: string;
  dueAt: number;
  payload: string | null;
  lane: string | null;
}

const enqueueQuery = preparedQuery((db, { id, kind, subjectId, dueAt, payload, lane }: EnqueueValues) =>
  db
    .insertInto('jobs')
    .values({ id, kind, subject_id: subjectId, status: 'queued', due_at: dueAt, owner: null, payload, lane })
    .onConflict((conflict) =>
      conflict.columns(['kind', 'subject_id']).doUpdateSet((set) => ({
        status: 'queued',
        due_at: dueAt,
        owner: null,
        payload,
        attempts: 0,
        epoch: set('jobs.epoch', '+', 1),
      })),
    ),
);

/**
 * Makes a job due at this time at the latest. Unlike `enqueueJob` it does not take the job from its worker, but it always writes the
 * row: a worker that releases the job in a transaction and then looks for more work waits for this write, and sees its result.
 */
export async function nudgeJob(db: Queries, job: { kind: string; subjectId: string; dueAt: number }): Promise<void> {
  await db
    .insertInto('jobs')
    .values({
      id: newId(),
      kind: job.kind,
      subject_id: job.subjectId,
      status: 'queued',
      due_at: job.dueAt,
      owner: null,
      payload: null,
    })
    .onConflict((conflict) =>
      conflict.columns(['kind', 'subject_id']).doUpdateSet((set) => {
        const running = () => set.case().when('jobs.status', '=', 'running');
        return {
          status: running().then('running').else('queued').end().$castTo<JobStatus>(),
          due_at: running()
            .then(set.ref('jobs.due_at'))
            .when(set.and([set('jobs.status', '=', 'queued'), set('jobs.due_at', '<', job.dueAt)]))
            .then(set.ref('jobs.due_at'))
            .else(job.dueAt)
            .end(),
          attempts: running().then(set.ref('jobs.attempts')).else(0).end(),
        };
      }),
    )
    .execute();
}

/** The worker that claims, when (milliseconds), and for how long. */
export interface Claimant {
  owner: string;
  now: number;
  lease: number;
  /** Whether there are jobs whose lease has ended. If it is not known, they are looked for. */
  hasAbandoned?: boolean;
  /**
   * Whether the transaction has claimed something before. It must not wait for the locks of others any more: one of them could be waiting
   * for what it has claimed.
   */
  hasClaimed?: boolean;
}

/** Claims the job of a kind that is due first. Expired leases come before queued work, which could otherwise starve them. */
export async function claimJob(db: Queries, kind: string, claimant: Claimant): Promise<ClaimedJob | undefined> {
  return (await takeAbandoned(db, kind, claimant)) ?? takeFirst(db, { kind, status: 'queued' }, claimant);
}

/** Claims the job of a kind whose lease ended first. */
export async function takeAbandoned(db: Queries, kind: string, claimant: Claimant): Promise<ClaimedJob | undefined> {
  return claimant.hasAbandoned === false ? undefined : takeFirst(db, { kind, status: 'running' }, claimant);
}

/** Reads before it writes: usually no job is due, and an update without effect costs as much as one with an effect. */
async function takeFirst(db: Queries, state: { kind: string; status: JobStatus }, claimant: Claimant): Promise<ClaimedJob | undefined> {
  for (;;) {
    const dueJob = await firstDue.first(db, { ...state, now: claimant.now });
    const job = dueJob === undefined ? undefined : await takeJob(db, dueJob, claimant);
    // Otherwise another worker was faster, and there may be another job.
    if (dueJob === undefined || job !== undefined) return job;
  }
}

/** Claims a job in the state in which it was found; undefined if another worker was faster. */
export async function takeJob(db: Queries, candidate: JobRow, { owner, now, lease }: Claimant): Promise<ClaimedJob | undefined> {
  const { id, epoch, status } = candidate;
  const until = now + lease;
  // Letting the database return the row takes longer than the change.
  if ((await takeQuery.change(db, { id, epoch, status, owner, until })) === 0) return undefined;
  // Only a job with the status `running` has an owner, unless it was yielded.
  const wasInterrupted = candidate.owner !== null && candidate.owner !== owner;
  return { ...candidate, status: 'running', owner, due_at: until, epoch: epoch + 1, attempts: candidate.attempts + 1, wasInterrupted };
}

/** A claimed job. */
export type ClaimedJob = JobRow & {
  /** Whether a process ended while it was working on the job, without releasing it. */
  readonly wasInterrupted: boolean;
};

type TakeValues = Pick<JobRow, 'id' | 'epoch' | 'status'> & { owner: string; until: number };

const takeQuery = preparedQuery((db, { id, epoch, status, owner, until }: TakeValues) =>
  db
    .updateTable('jobs')
    .set((set) => ({ status: 'running', owner, due_at: until, epoch: set('epoch', '+', 1), attempts: set('attempts', '+', 1) }))
    .where('id', '=', id)
    .where('status', '=', status)
    .where('epoch', '=', epoch),
);

const firstDue = preparedQuery((db, { kind, status, now }: { kind: string; status: JobStatus; now: number }) => {
  const query = db
    .selectFrom('jobs')
    .selectAll()
    .where('kind', '=', kind)
    .where('status', '=', status)
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .limit(1);
  // Without waiting for the jobs that other nodes are claiming.
  return isShared(db) ? query.forUpdate().skipLocked() : query;
});

/** Extends a lease; false if the job was lost. */
export async function prolongLease(db: Queries, claim: Claim, until: number): Promise<boolean> {
  const result = await updateHeldJob(db, claim).set({ due_at: until }).executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Whether the claim still holds. In the transaction of a write, this is the fence. */
export async function holdsJob(db: Queries, claim: Claim): Promise<boolean> {
  await lockRows(db, 'jobs', [claim.id]);
  const row = await stateOf.first(db, { id: claim.id });
  return row?.epoch === claim.epoch && row.status === 'running';
}

const stateOf = preparedQuery((db, { id }: { id: string }) => db.selectFrom('jobs').select(['epoch', 'status']).where('id', '=', id));

/** Releases a claimed job: done, parked, or queued for later. False if it was lost. */
export async function releaseJob(db: Queries, claim: Claim, to: { status: JobStatus; dueAt?: number }): Promise<boolean> {
  return (await releaseQuery.change(db, { id: claim.id, epoch: claim.epoch, status: to.status, dueAt: to.dueAt })) > 0;
}

/** The same in a transaction that has made sure that the claim holds, and is the last to use it. */
export async function releaseHeldJob(trx: Queries, claim: Claim, to: { status: JobStatus; dueAt?: number }): Promise<void> {
  await releaseQuery.send(trx, { id: claim.id, epoch: claim.epoch, status: to.status, dueAt: to.dueAt });
}

const releaseQuery = preparedQuery(
  (db, { id, epoch, status, dueAt }: Claim & { status: JobStatus; dueAt: number | undefined }, values) =>
    updateHeldJob(db, { id, epoch }).set({ status, owner: null, ...(values.dueAt === undefined ? {} : { due_at: dueAt as number }) }),
  (values) => namesOf(values).join(),
);

/** Puts a job that was just claimed back into the queue until later, as if it had not been claimed. */
export async function deferJob(trx: Queries, claim: Claim, dueAt: number): Promise<void> {
  await updateHeldJob(trx, claim)
    .set((set) => ({ status: 'queued', owner: null, due_at: dueAt, attempts: set('attempts', '-', 1) }))
    .execute();
}

/** Data that is stored with a claimed job, as JSON, until it is made due again. */
export async function noteOnJob(db: Queries, claim: Claim, payload: unknown): Promise<void> {
  await updateHeldJob(db, claim)
    .set({ payload: JSON.stringify(payload) })
    .execute();
}

/** Gives up a claimed job in its current state: the next worker continues it, before any queued job. */
export async function yieldJob(db: Queries, claim: Claim, now: number): Promise<void> {
  await updateHeldJob(db, claim)
    .set((set) => ({ owner: null, due_at: now, epoch: set('epoch', '+', 1) }))
    .execute();
}

/** Ends a job, even if a worker is working on it. */
export async function revokeJob(db: Queries, kind: string, subjectId: string): Promise<void> {
  await db
    .updateTable('jobs')
    .set((set) => ({ status: 'done', owner: null, epoch: set('epoch', '+', 1) }))
    .where('kind', '=', kind)
    .where('subject_id', '=', subjectId)
    .execute();
}

/**
 * Ends the leases of jobs that another process was working on, so that they are taken over immediately. Only for a process that
 * knows that it is the only one. The jobs keep their owner, so that the next worker learns that they were interrupted.
 */
export async function reclaimJobs(db: Queries, now: number): Promise<number> {
  const result = await db.updateTable('jobs').set({ due_at: now }).where('status', '=', 'running').executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/** Makes sure that jobs that were due at `until` (milliseconds) are still due after the clock was set back to `now`. */
export async function keepDue(db: Queries, { now, until }: { now: number; until: number }): Promise<void> {
  await db
    .updateTable('jobs')
    .set({ due_at: now })
    .where('status', '=', 'queued')
    .where('due_at', '>', now)
    .where('due_at', '<=', until)
    .execute();
}

/**
 * Makes sure that no lease ends later than one that would begin at `now` (milliseconds). Leases from before the clock was set back would
 * otherwise continue although their workers may have ended. Workers that have not will extend them.
 */
export async function limitLeases(db: Queries, { now, lease }: { now: number; lease: number }): Promise<void> {
  const end = now + lease;
  await db.updateTable('jobs').set({ due_at: end }).where('status', '=', 'running').where('due_at', '>', end).execute();
}

/** When the next job of a kind can be claimed, in milliseconds: when its first queued job is due, or its first lease ends. */
export interface FirstDue {
  queuedDueAt: number | undefined;
  leaseEnd: number | undefined;
}

/** The same for many kinds in one query, which reads one index entry for each, because workers call it all the time. */
export async function firstDueTimes(db: Queries, kinds: readonly string[]): Promise<Map<string, FirstDue>> {
  if (kinds.length === 0) return new Map();
  const row = await firstDueQuery.only(db, { kinds });
  const timeOf = (name: string): number | undefined => (row[name] == null ? undefined : Number(row[name]));
  return new Map(kinds.map((kind) => [kind, { queuedDueAt: timeOf(`queued ${kind}`), leaseEnd: timeOf(`running ${kind}`) }]));
}

const firstDueQuery = preparedQuery<{ kinds: readonly string[] }, Record<string, number | null>>(
  (db, _, { kinds }) =>
    db.selectNoFrom((select) =>
      kinds.flatMap((kind) =>
        (['queued', 'running'] as const).map((status) =>
          select
            .selectFrom('jobs')
            .select((job) => job.fn.min('due_at').as('first'))
            .where('kind', '=', kind)
            .where('status', '=', status)
            .as(`${status} ${kind}`),
        ),
      ),
    ),
  ({ kinds }) => kinds.join(),
);

/** When the next queued job of a kind becomes due after a moment, in milliseconds. */
export async function nextDueTime(db: Queries, kind: string, after: number): Promise<number | undefined> {
  const row = await nextDue.first(db, { kind, after });
  return row === undefined ? undefined : Number(row.due_at);
}

const nextDue = preparedQuery((db, { kind, after }: { kind: string; after: number }) =>
  db
    .selectFrom('jobs')
    .select('due_at')
    .where('kind', '=', kind)
    .where('status', '=', 'queued')
    .where('due_at', '>', after)
    .orderBy('due_at')
    .limit(1),
);

const updateHeldJob = (db: Queries, claim: Claim) =>
  db.updateTable('jobs').where('id', '=', claim.id).where('epoch', '=', claim.epoch).where('status', '=', 'running');
