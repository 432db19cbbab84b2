/** Events of runs that one transaction claims, on a database of several nodes. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { recordRunEvents, runEvent } from '../../../../src/service/engine/webhooks/run-events.ts';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import type { Queries, Store } from '../../../../src/service/store/database/database.ts';
import { enqueueJob } from '../../../../src/service/store/jobs/jobs.ts';
import { executedRun } from '../../../../src/service/store/runs/held-runs.ts';
import { claimRunJob } from '../../../../src/service/store/runs/run-queue.ts';
import { needsPostgres } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { openNodes } from '../../helpers/postgres.ts';
import { insertRuns } from '../../helpers/rows.ts';

const claimant = { owner: 'a', now: 100, lease: 1_000 };

/** Claims the next run, and reports its start. Returns whether there is anything to deliver. */
async function claimNext(trx: Queries): Promise<boolean> {
  const job = await claimRunJob(trx, 'run', claimant);
  const run = job && (await executedRun(trx, job));
  if (run === undefined) throw new Error('No run was claimed.');
  return recordRunEvents(new ManualClock(), trx, run, [runEvent(trx, 'run.started', run)]);
}

const insertWebhook = (db: Store, id: string) =>
  sql`insert into webhook_subscriptions (id, team_id, url, events, enabled, failures, created_at, updated_at)
    values (${id}, 't', 'http://127.0.0.1:9/', '["*"]', 1, 0, '', '')`.execute(db);

describeNeeding(needsPostgres, 'a run that is claimed together with others', () => {
  it('is reported to webhooks that were created after the others were claimed, and before it was started', async () => {
    const [a, b] = (await openNodes('a', 'b')) as [Store, Store];
    await insertTeam(a, { id: 't', name: 'T', created_at: '2026-07-18T09:00:00.000Z' });
    await insertRuns(a, 't');
    const start = (subjectId: string) => enqueueJob(b, { kind: 'run', subjectId, dueAt: 0, lane: 't' });
    await start('t 0');
    await a.transaction().execute(async (trx) => {
      expect(await claimNext(trx)).toBe(false);
      await insertWebhook(b, 'first');
      await start('t 1');
      expect(await claimNext(trx)).toBe(true);
      await insertWebhook(b, 'second');
      await start('t 2');
      expect(await claimNext(trx)).toBe(true);
    });
    const deliveries = await a.selectFrom('deliveries').select(['run_id', 'subscription_id']).execute();
    expect(deliveries.map(({ run_id, subscription_id }) => `${run_id}: ${subscription_id}`).sort()).toEqual([
      't 1: first',
      't 2: first',
      't 2: second',
    ]);
  });
});
