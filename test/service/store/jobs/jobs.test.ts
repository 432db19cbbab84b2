import { describe, expect, it } from 'vitest';
import type { Store } from '../../../../src/service/store/database/database.ts';
import type { JobRow } from '../../../../src/service/store/database/schema.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import {
  claimJob,
  enqueueJob,
  firstDueTimes,
  holdsJob,
  nextDueTime,
  prolongLease,
  reclaimJobs,
  releaseJob,
  revokeJob,
  yieldJob,
} from '../../../../src/service/store/jobs/jobs.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';

async function store() {
  const db = await openDatabase(await temporaryDirectory());
  afterTest(() => db.destroy());
  return db;
}

async function claimed(db: Store, now: number): Promise<JobRow> {
  const job = await claimJob(db, 'k', by(now));
  if (job === undefined) throw new Error('nothing is due');
  return job;
}

const by = (now: number) => ({ owner: 'me', now, lease: 100 });

describe('a job', () => {
  it('is claimed by one worker when it is due', async () => {
    const db = await store();
    await enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 10, payload: { a: 1 } });
    expect(await claimJob(db, 'k', by(9))).toBeUndefined();
    expect(await claimJob(db, 'other', by(10))).toBeUndefined();
    expect(await nextDueTime(db, 'k', 9)).toBe(10);
    // It is due already, and only waits to be claimed.
    expect(await nextDueTime(db, 'k', 10)).toBeUndefined();
    const job = await claimJob(db, 'k', by(10));
    expect(job).toMatchObject({ subject_id: 's', status: 'running', owner: 'me', due_at: 110, epoch: 1, attempts: 1, payload: '{"a":1}' });
    expect(await claimJob(db, 'k', by(10))).toBeUndefined();
    expect(await nextDueTime(db, 'k', 10)).toBeUndefined();
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
    await claimed(db, 10);
    expect(Object.fromEntries(await firstDueTimes(db, ['k', 'other']))).toEqual({
      k: { queued: 20, leaseEnd: 110 },
      other: { queued: undefined, leaseEnd: undefined },
    });
  });

  it('is taken over when its lease has ended, after which the former owner cannot change it', async () => {
    const db = await store();
    await enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 0 });
    const first = await claimed(db, 0);
    expect(await prolongLease(db, first, 200)).toBe(true);
    expect(await claimJob(db, 'k', by(150))).toBeUndefined();
    const second = await claimed(db, 200);
    expect(second.epoch).toBe(first.epoch + 1);
    expect([await holdsJob(db, first), await prolongLease(db, first, 999), await releaseJob(db, first, { status: 'done' })]).toEqual([
      false,
      false,
      false,
    ]);
    expect([await holdsJob(db, second), await releaseJob(db, second, { status: 'queued', dueAt: 300 })]).toEqual([true, true]);
    expect((await claimJob(db, 'k', by(300)))?.epoch).toBe(3);
  });

  it('is lost when it is revoked or made due again', async () => {
    const db = await store();
    for (const lose of [() => revokeJob(db, 'k', 's'), () => enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 0 })]) {
      await enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 0 });
      const job = await claimed(db, 0);
      await lose();
      expect(await holdsJob(db, job)).toBe(false);
    }
    expect(await claimJob(db, 'k', by(0))).toBeDefined();
  });

  it('without heartbeats comes before work that has waited longer', async () => {
    const db = await store();
    await enqueueJob(db, { kind: 'k', subjectId: 'lost', dueAt: 0 });
    await claimJob(db, 'k', by(0));
    for (let index = 0; index < 5; index++) await enqueueJob(db, { kind: 'k', subjectId: `backlog ${index}`, dueAt: 1 });
    expect((await claimJob(db, 'k', by(100)))?.subject_id).toBe('lost');
    expect((await claimJob(db, 'k', by(100)))?.subject_id).toMatch('backlog');
  });

  it('of a process that has ended is available immediately to the only other process', async () => {
    const db = await store();
    await enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 0 });
    await claimJob(db, 'k', by(0));
    expect(await reclaimJobs(db, 5)).toBe(1);
    expect(await claimJob(db, 'k', { ...by(5), owner: 'next' })).toMatchObject({ interrupted: true });
  });

  it('reports whether a process ended in the middle of it', async () => {
    const db = await store();
    await enqueueJob(db, { kind: 'k', subjectId: 's', dueAt: 0 });
    const first = await claimJob(db, 'k', by(0));
    expect(first).toMatchObject({ interrupted: false });
    // Claimed again by the same process, after a pause.
    const own = await claimJob(db, 'k', by(1_000_000));
    expect(own).toMatchObject({ interrupted: false });
    await yieldJob(db, own as JobRow, 1_000_000);
    expect(await claimJob(db, 'k', { ...by(1_000_000), owner: 'next' })).toMatchObject({ interrupted: false });
    expect(await claimJob(db, 'k', { ...by(2_000_000), owner: 'third' })).toMatchObject({ interrupted: true });
  });
});
