/** Which deliveries are removed, and what goes with them: an event stays while any delivery of it does. */
import { type Kysely, sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import type { Database } from '../../../../src/service/store/database/schema.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import {
  oldDeliveries,
  removeDeletedWebhooks,
  removeDeliveries,
  surplusDeliveries,
} from '../../../../src/service/store/webhooks/deliveries.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';

let db: Kysely<Database>;
beforeEach(async () => {
  const openedDatabase = await openDatabase(await temporaryDirectory());
  afterTest(() => openedDatabase.destroy());
  db = openedDatabase;
  for (const team of ['t', 'other']) await sql`insert into teams (id, name, created_at) values (${team}, ${team}, '')`.execute(db);
});

interface DeliverySettings {
  event?: string;
  team?: string;
  subscription?: string;
  /** Absent while it is pending. */
  completedAt?: string;
}

/** A delivery with this number, and one attempt. */
async function delivery(seq: number, { event = `e${seq}`, team = 't', subscription, completedAt }: DeliverySettings = {}): Promise<void> {
  const id = `${team}${seq}`;
  await sql`insert or ignore into events (id, team_id, kind, payload, created_at) values (${event}, ${team}, 'run.completed', '{}', '')`.execute(
    db,
  );
  if (subscription)
    await sql`insert or ignore into webhook_subscriptions (id, team_id, url, events, enabled, failures, created_at, updated_at)
      values (${subscription}, ${team}, '', '[]', 1, 0, '', '')`.execute(db);
  await sql`insert into deliveries (id, seq, team_id, event_id, kind, subscription_id, endpoint, url, status, tries, attempt_count, created_at, completed_at)
    values (${id}, ${seq}, ${team}, ${event}, 'run.completed', ${subscription ?? null}, 'x', '', ${completedAt ? 'delivered' : 'pending'}, 1, 1, '', ${completedAt ?? null})`.execute(
    db,
  );
  await sql`insert into delivery_attempts (delivery_id, number, started_at, duration_ms) values (${id}, 1, '', 1)`.execute(db);
}

async function ids(table: 'deliveries' | 'events' | 'webhook_subscriptions'): Promise<string[]> {
  return (await sql<{ id: string }>`select id from ${sql.table(table)} order by id`.execute(db)).rows.map(({ id }) => id);
}

it('removes a delivery with its attempts and its event, and leaves an event that another delivery sends', async () => {
  await delivery(1, { event: 'shared', completedAt: '2026-07-01' });
  await delivery(2, { event: 'shared' });
  await delivery(3, { completedAt: '2026-07-01' });
  await removeDeliveries(db, ['t1', 't3']);
  expect([await ids('deliveries'), await ids('events')]).toEqual([['t2'], ['shared']]);
  expect((await sql`select delivery_id from delivery_attempts`.execute(db)).rows).toEqual([{ delivery_id: 't2' }]);
});

it('selects deliveries that ended before a moment, and none that is pending', async () => {
  await delivery(1, { completedAt: '2026-07-01' });
  await delivery(2, { completedAt: '2026-07-02' });
  await delivery(3);
  expect(await oldDeliveries(db, '2026-07-02', 10)).toEqual(['t1']);
  expect(await oldDeliveries(db, '2026-08-01', 1)).toHaveLength(1);
});

it('selects what a team has beyond its newest deliveries, and none that is pending or of another team', async () => {
  await delivery(1, { completedAt: '2026-07-01' });
  await delivery(2);
  for (const seq of [3, 4, 5]) await delivery(seq, { completedAt: '2026-07-01' });
  await delivery(1, { team: 'other', completedAt: '2026-07-01', event: 'of another' });
  expect(await surplusDeliveries(db, 't', 2, 10)).toEqual(['t1', 't3']);
  expect(await surplusDeliveries(db, 't', 2, 1)).toHaveLength(1);
  expect(await surplusDeliveries(db, 't', 5, 10)).toEqual([]);
});

it('removes deleted webhooks once their last delivery is gone', async () => {
  await delivery(1, { subscription: 'gone', completedAt: '2026-07-01' });
  await delivery(2, { subscription: 'stays', completedAt: '2026-07-01' });
  await sql`update webhook_subscriptions set deleted_at = '2026-07-01' where id = 'gone'`.execute(db);
  await removeDeletedWebhooks(db);
  expect(await ids('webhook_subscriptions')).toEqual(['gone', 'stays']);
  await removeDeliveries(db, ['t1', 't2']);
  await removeDeletedWebhooks(db);
  expect(await ids('webhook_subscriptions')).toEqual(['stays']);
});
