/** Totals of runs on a database of several nodes, where a transaction changes them at its end. */
import { expect, it, vi } from 'vitest';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import type { Store } from '../../../../src/service/store/database/database.ts';
import { PostgresTransactions } from '../../../../src/service/store/database/postgres/transactions.ts';
import { addToTotals, moveInTotals, sumTotals } from '../../../../src/service/store/runs/run-totals.ts';
import { needsPostgres } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { afterTest } from '../../../support/temporary.ts';
import { openNodes } from '../../helpers/postgres.ts';
import { insertRuns } from '../../helpers/rows.ts';

describeNeeding(needsPostgres, 'the totals of runs', () => {
  it('are exact for any number of groups that a transaction changes', async () => {
    const [store] = (await openNodes('a')) as [Store];
    await insertTeam(store, { id: 't', name: 'T', created_at: '2026-07-18T09:00:00.000Z' });
    await insertRuns(store, 't');
    const { id: agent_id } = await store.selectFrom('agents').select('id').executeTakeFirstOrThrow();
    const groups = Array.from({ length: 19 }, (_, index) => ({
      ...{ team_id: 't', agent_id, source: `source ${index}` },
      status: 'running' as const,
    }));
    const [first] = groups as [(typeof groups)[number]];
    const totals = (status: 'running' | 'completed') =>
      Promise.all(groups.map(({ source }) => sumTotals(store, { teamId: 't', source, statuses: [status] })));
    // 11 groups, and then 8 with one more, whose total does not change: as many as one statement changes.
    for (const part of [groups.slice(8), groups.slice(0, 8)])
      await store.transaction().execute(async (trx) => {
        for (const each of part) await addToTotals(trx, each, groups.indexOf(each) + 1);
        for (const runs of [1, -1]) await addToTotals(trx, { ...first, status: 'failed' }, runs);
      });
    expect(await totals('running')).toEqual(groups.map((_, index) => index + 1));
    await store.transaction().execute(async (trx) => {
      for (const each of groups) await moveInTotals(trx, { ...each, status: 'completed' }, 'running');
      // Its total does not change in the end.
      await addToTotals(trx, first, 1);
    });
    expect(await totals('running')).toEqual(groups.map((_, index) => (index === 0 ? 1 : index)));
    expect(await totals('completed')).toEqual(groups.map(() => 1));
  });

  it('are locked in the same order by all transactions, so that none waits for one that waits for it', async () => {
    const [store] = (await openNodes('a')) as [Store];
    await insertTeam(store, { id: 't', name: 'T', created_at: '2026-07-18T09:00:00.000Z' });
    await insertRuns(store, 't');
    const { id: agent_id } = await store.selectFrom('agents').select('id').executeTakeFirstOrThrow();
    const run = vi.spyOn(PostgresTransactions.prototype, 'run');
    afterTest(async () => run.mockRestore());
    const sources = Array.from({ length: 9 }, (_, index) => `source ${index}`);
    const lockedSources = async (order: readonly string[]): Promise<unknown[]> => {
      run.mockClear();
      await store.transaction().execute(async (trx) => {
        for (const source of order) await addToTotals(trx, { team_id: 't', agent_id, source, status: 'running' }, 1);
      });
      const changes = run.mock.calls.map(([, query]) => query).filter(({ sql }) => sql.startsWith('insert into "run_totals"'));
      return changes.flatMap(({ parameters }) => parameters).filter((value) => sources.includes(value as string));
    };
    expect(await lockedSources(sources)).toEqual(sources);
    expect(await lockedSources([...sources].reverse())).toEqual(sources);
  });
});
