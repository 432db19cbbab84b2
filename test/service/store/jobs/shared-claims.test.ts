/** Claims of several nodes at the same moment: each job is claimed once, and no team has more runs executed than its plan allows. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { defaultPlan } from '../../../../src/service/store/access/plan.ts';
import { savePlan } from '../../../../src/service/store/access/plans.ts';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import type { Queries, Store } from '../../../../src/service/store/database/database.ts';
import type { JobRow } from '../../../../src/service/store/database/schema.ts';
import { claimJob, enqueueJob, takeJob } from '../../../../src/service/store/jobs/jobs.ts';
import { claimRunJob, lockLane } from '../../../../src/service/store/runs/run-queue.ts';
import { needsPostgres } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { openNodes } from '../../helpers/postgres.ts';
import { insertRuns } from '../../helpers/rows.ts';

const claimant = (owner: string, now: number) => ({ owner, now, lease: 1_000 });
const jobOf = (db: Queries, subjectId: string): Promise<JobRow> =>
  db.selectFrom('jobs').selectAll().where('subject_id', '=', subjectId).executeTakeFirstOrThrow();

/** Whether a statement of the database is waiting for a lock. */
async function isLockWaitedFor(store: Store): Promise<boolean> {
  const { rows } = await sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`.execute(store);
  return rows.length > 0;
}

/** Two nodes, and a team that may have this many runs executed; its first run is due at 60, the second one at 40. */
async function team(maxConcurrentRuns: number) {
  const [a, b, observer] = (await openNodes('a', 'b', 'observer')) as [Store, Store, Store];
  await insertTeam(a, { id: 't', name: 'T', created_at: '2026-07-18T09:00:00.000Z' });
  await savePlan(a, 't', { ...defaultPlan, maxConcurrentRuns }, '2026-07-18T09:00:00.000Z');
  await insertRuns(a, 't');
  await enqueueJob(a, { kind: 'run', subjectId: 't 0', dueAt: 60, lane: 't' });
  await enqueueJob(a, { kind: 'run', subjectId: 't 1', dueAt: 40, lane: 't' });
  /** What the second node claims at 50, when only the second run is due, while the first node is claiming the first run. */
  const claimedMeanwhile = async () => {
    let outcome: Promise<string | undefined> | undefined;
    await a.transaction().execute(async (trx) => {
      await lockLane(trx, 't');
      await takeJob(trx, await jobOf(trx, 't 0'), claimant('a', 60));
      let isOver = false;
      outcome = b
        .transaction()
        .execute((other) => claimRunJob(other, 'run', claimant('b', 50)))
        .then((job) => job?.subject_id)
        .finally(() => {
          isOver = true;
        });
      outcome.catch(() => undefined);
      while (!isOver && !(await isLockWaitedFor(observer))) await new Promise((resolve) => setImmediate(resolve));
    });
    return outcome;
  };
  return { a, b, claimedMeanwhile };
}

describeNeeding(needsPostgres, 'while another node claims', () => {
  it('the next job is claimed without waiting for it', async () => {
    const [a, b] = (await openNodes('a', 'b')) as [Store, Store];
    for (const [index, subjectId] of ['first', 'second'].entries()) await enqueueJob(a, { kind: 'k', subjectId, dueAt: index });
    await a.transaction().execute(async (trx) => {
      expect((await claimJob(trx, 'k', claimant('a', 9)))?.subject_id).toBe('first');
      expect((await claimJob(b, 'k', claimant('b', 9)))?.subject_id).toBe('second');
      expect(await claimJob(b, 'k', claimant('b', 9))).toBeUndefined();
    });
  });

  it('the last slot of a team, no other run of the team is claimed', async () => {
    const { a, claimedMeanwhile } = await team(1);
    expect(await claimedMeanwhile()).toBeUndefined();
    expect([(await jobOf(a, 't 0')).owner, (await jobOf(a, 't 1')).owner]).toEqual(['a', null]);
  });

  it('one of two slots, another run of the team is claimed', async () => {
    const { a, claimedMeanwhile } = await team(2);
    expect(await claimedMeanwhile()).toBe('t 1');
    expect([(await jobOf(a, 't 0')).owner, (await jobOf(a, 't 1')).owner]).toEqual(['a', 'b']);
  });
});
