/** Transactions on Postgres that need the same rows do not end each other, because they lock them in the same order. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { recordRunEvents, runEvent } from '../../../src/service/engine/webhooks/run-events.ts';
import { insertTeam, lockTeam } from '../../../src/service/store/access/teams.ts';
import type { Queries, Store } from '../../../src/service/store/database/database.ts';
import type { RunRow } from '../../../src/service/store/database/schema.ts';
import { sumTotals } from '../../../src/service/store/runs/run-totals.ts';
import { changeRun } from '../../../src/service/store/runs/runs.ts';
import { eventually } from '../../support/eventually.ts';
import { needsPostgres } from '../../support/postgres.ts';
import { describeNeeding } from '../../support/requirements.ts';
import { ManualClock } from '../helpers/clock.ts';
import { isLockWaitedFor, openNodes } from '../helpers/postgres.ts';
import { insertRuns } from '../helpers/rows.ts';
import { Gate } from '../helpers/runtime.ts';

const clock = new ManualClock();
const createdAt = '2026-07-18T09:00:00.000Z';

/** Two nodes and a team that wants all events of its three runs, of which none has begun. */
async function team() {
  const [first, second, observer] = (await openNodes('first', 'second', 'observer')) as [Store, Store, Store];
  await insertTeam(first, { id: 't', name: 'T', created_at: createdAt });
  await insertRuns(first, 't');
  await sql`insert into webhook_subscriptions (id, team_id, url, events, enabled, failures, created_at, updated_at)
    values ('s', 't', 'http://127.0.0.1:9/', '["*"]', 1, 0, '', '')`.execute(first);
  return { first, second, observer };
}

/** Begins or ends a run. */
const change = async (trx: Queries, id: string, status: 'running' | 'completed'): Promise<RunRow> =>
  (await changeRun(trx, id, [status === 'running' ? 'pending' : 'running'], { status })) as RunRow;

const report = (trx: Queries, run: RunRow) => recordRunEvents(clock, trx, run, [runEvent(trx, 'run.started', run)]);

describeNeeding(needsPostgres, 'transactions of two nodes', () => {
  it('of which one locks the team and begins a run, and the other ends a run of it, are executed once', async () => {
    const { first, second, observer } = await team();
    await first.transaction().execute((trx) => change(trx, 't 1', 'running'));
    const [teamIsLocked, runHasEnded] = [new Gate(), new Gate()];
    let attempts = 0;
    let hasBegun = false;
    const beginning = first.transaction().execute(async (trx) => {
      attempts += 1;
      await lockTeam(trx, 't');
      teamIsLocked.open();
      await runHasEnded.opened;
      await report(trx, await change(trx, 't 0', 'running'));
      hasBegun = true;
    });
    const ending = second.transaction().execute(async (trx) => {
      attempts += 1;
      await teamIsLocked.opened;
      const run = await change(trx, 't 1', 'completed');
      runHasEnded.open();
      await eventually('the other has done its work, or waits', async () => hasBegun || (await isLockWaitedFor(observer)));
      await report(trx, run);
    });
    await Promise.all([beginning, ending]);
    expect(attempts).toBe(2);
    const { rows } = await sql<{ seq: number }>`select seq from deliveries order by seq`.execute(observer);
    expect(rows.map(({ seq }) => seq)).toEqual([1, 2]);
  });

  it('that change the totals of two teams in opposite orders are executed once', async () => {
    const { first, second, observer } = await team();
    await insertTeam(first, { id: 'u', name: 'U', created_at: createdAt });
    await insertRuns(first, 'u');
    const gates = [new Gate(), new Gate()] as const;
    let attempts = 0;
    const begin = (store: Store, own: Gate, other: Gate, ids: readonly string[]) =>
      store.transaction().execute(async (trx) => {
        attempts += 1;
        for (const id of ids) {
          await change(trx, id, 'running');
          own.open();
          await other.opened;
        }
      });
    await Promise.all([begin(first, gates[0], gates[1], ['t 0', 'u 0']), begin(second, gates[1], gates[0], ['u 1', 't 1'])]);
    expect(attempts).toBe(2);
    for (const teamId of ['t', 'u']) expect(await sumTotals(observer, { teamId, statuses: ['running'] })).toBe(2);
  });
});
