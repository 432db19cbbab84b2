/** Claims of several nodes at the same moment: each job is claimed once, and no team has more runs executed than its plan allows. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { defaultPlan } from '../../../../src/service/store/access/plan.ts';
import { savePlan } from '../../../../src/service/store/access/plans.ts';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import type { Queries, Store } from '../../../../src/service/store/database/database.ts';
import { lockRows } from '../../../../src/service/store/database/row-locks.ts';
import type { JobRow, RunRow } from '../../../../src/service/store/database/schema.ts';
import { claimJob, enqueueJob, takeJob } from '../../../../src/service/store/jobs/jobs.ts';
import { executedRun } from '../../../../src/service/store/runs/held-runs.ts';
import { type ClaimedRun, claimRunJob, lockLane } from '../../../../src/service/store/runs/run-queue.ts';
import { lockUseOfRun } from '../../../../src/service/store/runs/workspace-files.ts';
import { needsPostgres } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { isLockWaitedFor, openNodes } from '../../helpers/postgres.ts';
import { insertRuns } from '../../helpers/rows.ts';

const claimant = (owner: string, now: number) => ({ owner, now, lease: 1_000 });
const jobOf = (db: Queries, subjectId: string): Promise<JobRow> =>
  db.selectFrom('jobs').selectAll().where('subject_id', '=', subjectId).executeTakeFirstOrThrow();

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

  it.each([
    ['the lane', (trx: Queries) => lockLane(trx, 't')],
    ['the run', (trx: Queries) => lockRows(trx, 'runs', ['t 1'])],
  ])('has locked %s, a transaction that has claimed something does not wait', async (_, lock) => {
    const { a, b } = await team(2);
    await a.transaction().execute(async (trx) => {
      await lock(trx);
      // The lock is sent with the next statement.
      await jobOf(trx, 't 1');
      const further = { ...claimant('b', 70), hasClaimed: true };
      expect(await b.transaction().execute((other) => claimRunJob(other, 'run', further))).toBe('locked');
    });
    const further = { ...claimant('b', 70), hasClaimed: true };
    expect(await b.transaction().execute((other) => claimRunJob(other, 'run', further))).toMatchObject({ subject_id: 't 1' });
  });
});

/** How many runs and jobs the session has read. */
async function rowsRead(trx: Queries): Promise<number> {
  const { rows } = await sql<{ count: number }>`select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) as count
    from pg_stat_xact_user_tables where relname in ('runs', 'jobs')`.execute(trx);
  return Number(rows[0]?.count);
}

describeNeeding(needsPostgres, 'a claim', () => {
  it('reads the runs of one moment, however many wait', async () => {
    const { a } = await team(2);
    const [run] = await a.selectFrom('runs').selectAll().where('id', '=', 't 0').execute();
    const job = await jobOf(a, 't 0');
    // In smaller tables, Postgres prefers to read everything.
    for (let start = 10; start < 3_000; start += 500) {
      const numbers = Array.from({ length: 500 }, (_, index) => start + index);
      await a
        .insertInto('runs')
        .values(numbers.map((number) => ({ ...(run as RunRow), id: `t ${number}`, run_number: number })))
        .execute();
      await a
        .insertInto('jobs')
        .values(
          numbers.map((number) => ({
            ...job,
            id: `job ${number}`,
            subject_id: `t ${number}`,
            due_at: 100 + number,
            status: 'done' as const,
          })),
        )
        .execute();
    }
    // As usual, Postgres believes that hardly any run waits.
    await a.updateTable('jobs').set({ status: 'done' }).execute();
    await sql`analyze`.execute(a);
    await a.updateTable('jobs').set({ status: 'queued' }).execute();
    await a.transaction().execute(async (trx) => {
      const rowsOf = async <Result>(work: () => Promise<Result>): Promise<{ rows: number; result: Result }> => {
        const before = await rowsRead(trx);
        const result = await work();
        return { rows: (await rowsRead(trx)) - before, result };
      };
      const claim = await rowsOf(() => claimRunJob(trx, 'run', claimant('a', 10_000)));
      expect(claim.result).toMatchObject({ subject_id: 't 1', run: { id: 't 1' } });
      const { id, kind } = claim.result as ClaimedRun;
      // What it reads of the run and its sandbox does not depend on how many wait.
      const { rows: rowsOfRun } = await rowsOf(async () => {
        await executedRun(trx, claim.result as ClaimedRun);
        await lockUseOfRun(trx, { runId: 't 1', jobId: id, jobKind: kind, node: 'a' });
      });
      expect(claim.rows - rowsOfRun).toBeLessThan(20);
    });
  });
});
