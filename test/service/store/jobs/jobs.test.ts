import { describe, expect, it } from 'vitest';
import type { Store } from '../../../../src/service/store/database/database.ts';
import type { JobRow } from '../../../../src/service/store/database/schema.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import {
  claimJob,
  enqueueJob,
  firstDueTimes,
  holdsJob,
  keepDue,
  limitLeases,
  nextDueTime,
  noteOnJob,
  nudgeJob,
  prolongLease,
  reclaimJobs,
  releaseJob,
  revokeJob,
  takeJob,
  yieldJob,
} from '../../../../src/service/store/jobs/jobs.ts';
import { putEmptyDatabase } from '../../../support/empty-database.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';

async function store() {
  const directory = await temporaryDirectory();
  await putEmptyDatabase(directory);
  const db = await openDatabase(directory);
  afterTest(() => db.destroy());
  return db;
}

async function claimOne(db: Store, now: number): Promise<JobRow> {
  const job = await claimJob(db, 'k', claimantAt(now));
  if (job === undefined) throw new Error('nothing is due');
  return job;
}

const claimantAt = (now: number) => ({ owner: 'me', now, lease: 100 });

const onlyJob = (db: Store): Promise<JobRow> => db.selectFrom('jobs').selectAll().executeTakeFirstOrThrow();
const dueTimes = async (db: Store) =>
  Object.fromEntries(
    (await db.selectFrom('jobs').select(['subject_id', 'due_at']).execute()).map((row) => [row.subject_id, Number(row.due_at)]),
  );

describe('a job', () => {
  it('is claimed by one worker when it is due', async () => {
    const db = await store();
    await enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 10, payload: { a: 1 } });
    expect(await claimJob(db, 'k', claimantAt(9))).toBeUndefined();
    expect(await claimJob(db, 'other', claimantAt(10))).toBeUndefined();
    expect(await nextDueTime(db, 'k', 9)).toBe(10);
    // It is due already, and only waits to be claimed.
    expect(await nextDueTime(db, 'k', 10)).toBeUndefined();
    const job = await claimJob(db, 'k', claimantAt(10));
    expect(job).toMatchObject({ subject_id: 's', status: 'running', owner: 'me', due_at: 110, epoch: 1, attempts: 1, payload: '{"a":1}' });
    expect(await claimJob(db, 'k', claimantAt(10))).toBeUndefined();
    expect(await nextDueTime(db, 'k', 10)).toBeUndefined();
  });

  it('is not taken twice by workers that look at the same time: each takes another one', async () => {
    const db = await store();
    for (const subjectId of ['a', 'b', 'c']) await enqueueJob(db, { kind: 'k', subjectId, dueAt: 0 });
    const jobs = await Promise.all(['x', 'y', 'z', 'late'].map((owner) => claimJob(db, 'k', { ...claimantAt(0), owner })));
    expect(jobs.map((job) => job?.subject_id ?? '-').sort()).toEqual(['-', 'a', 'b', 'c']);
  });

  it('returns for each kind when its next job is due', async () => {
    const db = await store();
    for (const [subjectId, dueAt] of [
      ['late', 30],
      ['early', 20],
      ['first', 10],
    ] as const)
      await enqueueJob(db, { kind: 'k', subjectId, dueAt });
    await enqueueJob(db, { kind: 'other', subjectId: 's', dueAt: 5 });
    await revokeJob(db, 'other', 's');
    await claimOne(db, 10);
    expect(Object.fromEntries(await firstDueTimes(db, ['k', 'other']))).toEqual({
      k: { queuedDueAt: 20, leaseEnd: 110 },
      other: { queuedDueAt: undefined, leaseEnd: undefined },
    });
  });

  it('is taken over when its lease has ended, after which the former owner cannot change it', async () => {
    const db = await store();
    await enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 0 });
    const first = await claimOne(db, 0);
    expect(await prolongLease(db, first, 200)).toBe(true);
    expect(await claimJob(db, 'k', claimantAt(150))).toBeUndefined();
    const second = await claimOne(db, 200);
    expect(second.epoch).toBe(first.epoch + 1);
    expect([await holdsJob(db, first), await prolongLease(db, first, 999), await releaseJob(db, first, { status: 'done' })]).toEqual([
      false,
      false,
      false,
    ]);
    expect([await holdsJob(db, second), await releaseJob(db, second, { status: 'queued', dueAt: 300 })]).toEqual([true, true]);
    expect((await claimJob(db, 'k', claimantAt(300)))?.epoch).toBe(3);
  });

  it('is lost when it is revoked or made due again', async () => {
    const db = await store();
    for (const lose of [() => revokeJob(db, 'k', 's'), () => enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 0 })]) {
      await enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 0 });
      const job = await claimOne(db, 0);
      await lose();
      expect(await holdsJob(db, job)).toBe(false);
    }
    expect(await claimJob(db, 'k', claimantAt(0))).toBeDefined();
  });

  it('without heartbeats comes before work that has waited longer', async () => {
    const db = await store();
    await enqueueJob(db, { kind: 'k', subjectId: 'lost', dueAt: 0 });
    await claimJob(db, 'k', claimantAt(0));
    for (let index = 0; index < 5; index++) await enqueueJob(db, { kind: 'k', subjectId: `backlog ${index}`, dueAt: 1 });
    expect((await claimJob(db, 'k', claimantAt(100)))?.subject_id).toBe('lost');
    expect((await claimJob(db, 'k', claimantAt(100)))?.subject_id).toMatch('backlog');
  });

  it('of a process that has ended is available immediately to the only other process', async () => {
    const db = await store();
    await enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 0 });
    await claimJob(db, 'k', claimantAt(0));
    expect(await reclaimJobs(db, 5)).toBe(1);
    expect(await claimJob(db, 'k', { ...claimantAt(5), owner: 'next' })).toMatchObject({ wasInterrupted: true });
  });

  it('reports whether a process ended in the middle of it', async () => {
    const db = await store();
    await enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 0 });
    const first = await claimJob(db, 'k', claimantAt(0));
    expect(first).toMatchObject({ wasInterrupted: false });
    // Claimed again by the same process, after a pause.
    const ownJob = await claimJob(db, 'k', claimantAt(1_000_000));
    expect(ownJob).toMatchObject({ wasInterrupted: false });
    await yieldJob(db, ownJob as JobRow, 1_000_000);
    expect(await claimJob(db, 'k', { ...claimantAt(1_000_000), owner: 'next' })).toMatchObject({ wasInterrupted: false });
    expect(await claimJob(db, 'k', { ...claimantAt(2_000_000), owner: 'third' })).toMatchObject({ wasInterrupted: true });
  });
});

describe('a worker that has lost its job', () => {
  const ways: [string, (db: Store, job: JobRow) => Promise<unknown>][] = [
    ['because its lease ended and another worker took it', (db) => claimJob(db, 'k', { owner: 'other', now: 500, lease: 100 })],
    ['because it was revoked', (db) => revokeJob(db, 'k', 's')],
    ['because it was made due again', (db) => enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 7, payload: 'new' })],
    ['because it had released it', (db, job) => releaseJob(db, job, { status: 'queued', dueAt: 7 })],
    ['because it had parked it', (db, job) => releaseJob(db, job, { status: 'parked' })],
    ['because it had given it up', (db, job) => yieldJob(db, job, 7)],
  ];

  it.each(ways)('cannot change it in any way: %s', async (_, lose) => {
    const db = await store();
    await enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 0, payload: 'old' });
    const job = await claimOne(db, 0);
    expect(await holdsJob(db, job)).toBe(true);
    await lose(db, job);
    const row = await onlyJob(db);
    expect(await holdsJob(db, job)).toBe(false);
    expect(await prolongLease(db, job, 999)).toBe(false);
    expect(await releaseJob(db, job, { status: 'done' })).toBe(false);
    expect(await releaseJob(db, job, { status: 'queued', dueAt: 999 })).toBe(false);
    await noteOnJob(db, job, { stale: true });
    await yieldJob(db, job, 999);
    expect(await onlyJob(db)).toEqual(row);
  });

  it('can change no other job either', async () => {
    const db = await store();
    await enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 0 });
    const job = await claimOne(db, 0);
    await enqueueJob(db, { kind: 'k', subjectId: 'other', dueAt: 0 });
    const otherJob = await claimOne(db, 0);
    await revokeJob(db, 'k', 's');
    await noteOnJob(db, job, { stale: true });
    await yieldJob(db, job, 999);
    await releaseJob(db, job, { status: 'done' });
    await prolongLease(db, job, 999);
    expect(await holdsJob(db, otherJob)).toBe(true);
    expect(await db.selectFrom('jobs').selectAll().where('id', '=', otherJob.id).executeTakeFirstOrThrow()).toMatchObject({
      due_at: 100,
      owner: 'me',
      payload: null,
    });
  });

  it('cannot claim it in the state in which it had found it', async () => {
    const db = await store();
    await enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 0 });
    const storedJob = await onlyJob(db);
    const job = await claimOne(db, 0);
    expect(await takeJob(db, storedJob, claimantAt(0))).toBeUndefined();
    await releaseJob(db, job, { status: 'queued', dueAt: 0 });
    // Queued again, but claimed in the meantime.
    expect(await takeJob(db, storedJob, claimantAt(0))).toBeUndefined();
    // The same epoch, but released.
    expect(await takeJob(db, { ...job, status: 'running' }, claimantAt(0))).toBeUndefined();
    expect(await takeJob(db, await onlyJob(db), claimantAt(0))).toMatchObject({ epoch: job.epoch + 1 });
  });
});

describe('making a job due again', () => {
  it('takes it from its worker, replaces its data, and forgets its attempts, but leaves it in its lane', async () => {
    const db = await store();
    await enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 0, payload: 'old', lane: 'first' });
    await claimOne(db, 0);
    await enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 7, lane: 'second' });
    expect(await onlyJob(db)).toMatchObject({
      status: 'queued',
      due_at: 7,
      owner: null,
      payload: null,
      attempts: 0,
      epoch: 2,
      lane: 'first',
    });
  });
});

describe('nudging a job', () => {
  const nudge = (db: Store, dueAt: number) => nudgeJob(db, { kind: 'k', subjectId: 's', dueAt });

  it('creates it if it does not exist', async () => {
    const db = await store();
    await nudge(db, 5);
    expect(await onlyJob(db)).toMatchObject({
      kind: 'k',
      subject_id: 's',
      status: 'queued',
      due_at: 5,
      attempts: 0,
      epoch: 0,
      owner: null,
    });
  });

  it.each([
    [9, 5],
    [3, 3],
    [5, 5],
  ])('makes a queued one that is due at %i due at 5 at the latest: at %i', async (dueAt, expected) => {
    const db = await store();
    await enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 0 });
    await releaseJob(db, await claimOne(db, 0), { status: 'queued', dueAt });
    await nudge(db, 5);
    // Its attempts no longer count: the next failure is the first one.
    expect(await onlyJob(db)).toMatchObject({ status: 'queued', due_at: expected, attempts: 0 });
  });

  it.each(['done', 'parked'] as const)('makes one that is %s due at that time, even if it was due earlier', async (status) => {
    const db = await store();
    await enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 0 });
    await releaseJob(db, await claimOne(db, 0), { status, dueAt: 3 });
    await nudge(db, 5);
    expect(await onlyJob(db)).toMatchObject({ status: 'queued', due_at: 5, attempts: 0 });
  });

  it('leaves a running one to its worker', async () => {
    const db = await store();
    await enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 0, payload: 'data' });
    const job = await claimOne(db, 0);
    const row = await onlyJob(db);
    await nudge(db, 5);
    expect(await onlyJob(db)).toEqual(row);
    expect(await holdsJob(db, job)).toBe(true);
  });
});

it('claims the job that is due first', async () => {
  const db = await store();
  for (const [subjectId, dueAt] of [
    ['second', 20],
    ['first', 10],
    ['third', 30],
  ] as const)
    await enqueueJob(db, { kind: 'k', subjectId, dueAt });
  await enqueueJob(db, { kind: 'other', subjectId: 's', dueAt: 5 });
  expect(await nextDueTime(db, 'k', 0)).toBe(10);
  const claims = [await claimOne(db, 50), await claimOne(db, 50), await claimOne(db, 50)];
  expect(claims.map((job) => job.subject_id)).toEqual(['first', 'second', 'third']);
});

it('reclaiming affects only jobs in progress', async () => {
  const db = await store();
  for (const subjectId of ['running', 'done']) {
    await enqueueJob(db, { kind: 'k', subjectId, dueAt: 0 });
    const job = await claimOne(db, 0);
    if (subjectId === 'done') await releaseJob(db, job, { status: 'done' });
  }
  await enqueueJob(db, { kind: 'k', subjectId: 'queued', dueAt: 900 });
  expect(await reclaimJobs(db, 5)).toBe(1);
  expect(await dueTimes(db)).toEqual({ running: 5, done: 100, queued: 900 });
});

it('revoking affects only the job of this kind and subject', async () => {
  const db = await store();
  for (const [kind, subjectId] of [
    ['k', 's'],
    ['k', 'other'],
    ['other', 's'],
  ] as const)
    await enqueueJob(db, { kind, subjectId, dueAt: 0 });
  await revokeJob(db, 'k', 's');
  const rows = await db.selectFrom('jobs').select(['kind', 'subject_id', 'status']).orderBy('kind').orderBy('subject_id').execute();
  expect(rows.map((row) => `${row.kind} ${row.subject_id} ${row.status}`)).toEqual(['k other queued', 'k s done', 'other s queued']);
});

it('keeps data that was stored with a job until the job is made due again', async () => {
  const db = await store();
  await enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 0 });
  const job = await claimOne(db, 0);
  await noteOnJob(db, job, { times: 1 });
  expect((await onlyJob(db)).payload).toBe('{"times":1}');
  await releaseJob(db, job, { status: 'queued', dueAt: 0 });
  expect((await claimOne(db, 0)).payload).toBe('{"times":1}');
  await enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 0 });
  expect((await onlyJob(db)).payload).toBeNull();
});

it('makes jobs that were due before the clock was set back due, and leaves the others unchanged', async () => {
  const db = await store();
  await enqueueJob(db, { kind: 'k', subjectId: 'running', dueAt: 0 });
  await claimOne(db, 0);
  for (const [subjectId, dueAt] of Object.entries({ past: 40, now: 50, missed: 51, last: 100, later: 101 }))
    await enqueueJob(db, { kind: 'k', subjectId, dueAt });
  await keepDue(db, { now: 50, until: 100 });
  expect(await dueTimes(db)).toEqual({ running: 100, past: 40, now: 50, missed: 50, last: 50, later: 101 });
});

it('ends no lease later than one that begins now, and leaves the others and queued jobs unchanged', async () => {
  const db = await store();
  for (const [subjectId, lease] of Object.entries({ short: 30, exact: 50, long: 500 })) {
    await enqueueJob(db, { kind: 'k', subjectId, dueAt: 0 });
    await claimJob(db, 'k', { owner: 'me', now: 0, lease });
  }
  await enqueueJob(db, { kind: 'k', subjectId: 'queued', dueAt: 500 });
  await limitLeases(db, { now: 40, lease: 10 });
  expect(await dueTimes(db)).toEqual({ short: 30, exact: 50, long: 50, queued: 500 });
});

it('returns no due times if no kinds are requested', async () => {
  expect(await firstDueTimes(await store(), [])).toEqual(new Map());
});
