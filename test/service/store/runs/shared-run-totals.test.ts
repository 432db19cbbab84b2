/** Totals of runs on a database of several nodes, where a transaction changes them at its end. */
import { expect, it } from 'vitest';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import type { Store } from '../../../../src/service/store/database/database.ts';
import { addToTotals, moveInTotals, sumTotals } from '../../../../src/service/store/runs/run-totals.ts';
import { needsPostgres } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
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
});
