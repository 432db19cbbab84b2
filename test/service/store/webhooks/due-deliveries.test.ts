/** Which deliveries to an endpoint are due. */
import { expect, it } from 'vitest';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import type { Store } from '../../../../src/service/store/database/database.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { dueDeliveries, insertEvents, nextDeliveryTime } from '../../../../src/service/store/webhooks/deliveries.ts';
import { needsPostgres } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';
import { openNodes } from '../../helpers/postgres.ts';

const created_at = '2026-08-01T00:00:00.000Z';

/** Deliveries of one event, which are due at these times. */
async function deliveries(store: Store, times: number[]): Promise<void> {
  await insertTeam(store, { id: 't', name: 'T', created_at });
  const about = { team_id: 't', event_id: 'e', kind: 'run.completed' as const, run_id: null, subscription_id: null, url: '' };
  const state = { status: 'pending' as const, tries: 0, attempt_count: 0, last_status_code: null, last_error: null, completed_at: null };
  await store.transaction().execute((trx) =>
    insertEvents(trx, 't', [
      {
        event: { id: 'e', team_id: 't', kind: 'run.completed', run_id: null, payload: '{}', created_at },
        deliveries: times.map((time, index) => ({
          ...{ ...about, ...state, id: `d${index}`, endpoint: 'x', next_attempt_at: time, created_at },
        })),
      },
    ]),
  );
}

async function expectDue(store: Store): Promise<void> {
  await deliveries(store, [30, 10, 20, 10]);
  const due = async (now: number, excludedIds: string[], limit = 9): Promise<string[]> =>
    (await dueDeliveries(store, 'x', { now, excludedIds, limit })).map(({ id }) => id);
  expect(await due(9, [])).toEqual([]);
  expect(await due(20, [])).toEqual(['d1', 'd3', 'd2']);
  expect(await due(20, ['d1', 'd2'])).toEqual(['d3']);
  expect(await due(99, ['d1'], 2)).toEqual(['d3', 'd2']);
  expect(await dueDeliveries(store, 'other', { now: 99, excludedIds: [], limit: 9 })).toEqual([]);
  expect([await nextDeliveryTime(store, 'x'), await nextDeliveryTime(store, 'other')]).toEqual([10, undefined]);
}

it('deliveries are due in the order of their times, except those that are being sent', async () => {
  const store = await openDatabase(await temporaryDirectory());
  afterTest(() => store.destroy());
  await expectDue(store);
});

describeNeeding(needsPostgres, 'deliveries on a database of several nodes', () => {
  it('are due in the same order', async () => {
    const [store] = (await openNodes('a')) as [Store];
    await expectDue(store);
  });
});
