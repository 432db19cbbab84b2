/**
 * The queue. A job is claimed for a lease and an epoch; the lease is prolonged by heartbeats, and every write made for the
 * job checks the epoch. A job whose owner fell silent is ordinary due work: there is no separate recovery.
 */
import { randomUUID } from 'node:crypto';
import type { Queries } from './database.ts';
import type { JobRow, JobStatus } from './schema.ts';

/** The right to work on a job, as long as nobody has claimed or revoked it since. */
export interface Claim {
  readonly id: string;
  readonly epoch: number;
}

/** Makes a job due, new or not. Whoever works on it loses it. */
export async function enqueueJob(db: Queries, job: { kind: string; subjectId: string; dueAt: number; payload?: unknown }): Promise<void> {
  const payload = job.payload === undefined ? null : JSON.stringify(job.payload);
  await db
    .insertInto('jobs')
    .values({ id: randomUUID(), kind: job.kind, subject_id: job.subjectId, status: 'queued', due_at: job.dueAt, owner: null, payload })
    .onConflict((conflict) =>
      conflict.columns(['kind', 'subject_id']).doUpdateSet((set) => ({
        status: 'queued',
        due_at: job.dueAt,
        owner: null,
        payload,
        attempts: 0,
        epoch: set('jobs.epoch', '+', 1),
      })),
    )
    .execute();
}

/** Takes the job of a kind that is due first, expired leases before queued work, which could otherwise starve them. */
export async function claimJob(db: Queries, kind: string, by: { owner: string; now: number; lease: number }): Promise<JobRow | undefined> {
  const due = (status: JobStatus) =>
    db
      .selectFrom('jobs')
      .select('id')
      .where('kind', '=', kind)
      .where('status', '=', status)
      .where('due_at', '<=', by.now)
      .orderBy('due_at')
      .limit(1);
  return db
    .updateTable('jobs')
    .set((set) => ({
      status: 'running',
      owner: by.owner,
      due_at: by.now + by.lease,
      epoch: set('epoch', '+', 1),
      attempts: set('attempts', '+', 1),
    }))
    .where('id', '=', (where) => where.fn.coalesce(due('running'), due('queued')))
    .returningAll()
    .executeTakeFirst();
}

/** Prolongs a lease; false when the job was lost. */
export async function prolongLease(db: Queries, claim: Claim, until: number): Promise<boolean> {
  const result = await held(db, claim).set({ due_at: until }).executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Whether the claim still holds. In the transaction of a write, this is the fence. */
export async function holdsJob(db: Queries, claim: Claim): Promise<boolean> {
  const row = await db.selectFrom('jobs').select(['epoch', 'status']).where('id', '=', claim.id).executeTakeFirst();
  return row?.epoch === claim.epoch && row.status === 'running';
}

/** Gives a claimed job back: done, parked, or queued for later. False when it was lost. */
export async function releaseJob(db: Queries, claim: Claim, to: { status: JobStatus; dueAt?: number }): Promise<boolean> {
  const result = await held(db, claim)
    .set({ status: to.status, owner: null, ...(to.dueAt === undefined ? {} : { due_at: to.dueAt }) })
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Ends a job whoever works on it. */
export async function revokeJob(db: Queries, kind: string, subjectId: string): Promise<void> {
  await db
    .updateTable('jobs')
    .set((set) => ({ status: 'done', owner: null, epoch: set('epoch', '+', 1) }))
    .where('kind', '=', kind)
    .where('subject_id', '=', subjectId)
    .execute();
}

/** Makes the jobs that another process was working on due now. For a process that knows it is the only one. */
export async function reclaimJobs(db: Queries, now: number): Promise<number> {
  const result = await db
    .updateTable('jobs')
    .set({ status: 'queued', owner: null, due_at: now })
    .where('status', '=', 'running')
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/** When the next queued job of a kind is due, in milliseconds. */
export async function nextDueTime(db: Queries, kind: string): Promise<number | undefined> {
  const row = await db
    .selectFrom('jobs')
    .select('due_at')
    .where('kind', '=', kind)
    .where('status', '=', 'queued')
    .orderBy('due_at')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? undefined : Number(row.due_at);
}

const held = (db: Queries, claim: Claim) =>
  db.updateTable('jobs').where('id', '=', claim.id).where('epoch', '=', claim.epoch).where('status', '=', 'running');
