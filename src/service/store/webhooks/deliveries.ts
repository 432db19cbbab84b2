/** Webhook deliveries and the log of their attempts. */
import type { Insertable, Updateable } from 'kysely';
import type { DeliveryStatus, WebhookEventKind } from '../../../interface/types.ts';
import type { Queries } from '../database/database.ts';
import { lockName } from '../database/row-locks.ts';
import type { AttemptRow, DeliveriesTable, DeliveryAttemptsTable, DeliveryRow, EventRow, EventsTable } from '../database/schema.ts';

/** An event, and a delivery of it for each recipient. */
export interface RecordedEvent {
  event: Insertable<EventsTable>;
  /** Without their numbers, which are in the order of the deliveries. */
  deliveries: readonly Omit<Insertable<DeliveriesTable>, 'seq'>[];
}

/**
 * Inserts events of one team with their deliveries. Until the transaction ends, no other one can record events of the team: call it at the
 * end.
 */
export async function insertEvents(trx: Queries, teamId: string, events: readonly RecordedEvent[]): Promise<void> {
  // Not the row of the team: transactions that lock it before other rows would wait for those that have locked other rows before.
  await lockName(trx, `deliveries of ${teamId}`);
  let seq = await lastNumber(trx, teamId);
  for (const { event, deliveries } of events) {
    await trx.insertInto('events').values(event).execute();
    for (const delivery of deliveries)
      await trx
        .insertInto('deliveries')
        .values({ ...delivery, seq: ++seq })
        .execute();
  }
}

async function lastNumber(db: Queries, teamId: string): Promise<number> {
  const { last } = await db
    .selectFrom('deliveries')
    .select((select) => select.fn.max('seq').as('last'))
    .where('team_id', '=', teamId)
    .executeTakeFirstOrThrow();
  return Number(last ?? 0);
}

export async function eventById(db: Queries, id: string): Promise<EventRow> {
  return db.selectFrom('events').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

/** Deliveries to an endpoint that are due, excluding those that this process is sending. */
export async function dueDeliveries(
  db: Queries,
  endpoint: string,
  options: { now: number; excludedIds: string[]; limit: number },
): Promise<DeliveryRow[]> {
  let query = db
    .selectFrom('deliveries')
    .selectAll()
    .where('endpoint', '=', endpoint)
    .where('status', '=', 'pending')
    .where('next_attempt_at', '<=', options.now);
  if (options.excludedIds.length > 0) query = query.where('id', 'not in', options.excludedIds);
  return query.orderBy('next_attempt_at').orderBy('seq').limit(options.limit).execute();
}

/** When the next delivery to an endpoint is due, in milliseconds. */
export async function nextDeliveryTime(db: Queries, endpoint: string): Promise<number | undefined> {
  const row = await db
    .selectFrom('deliveries')
    .select('next_attempt_at')
    .where('endpoint', '=', endpoint)
    .where('status', '=', 'pending')
    .orderBy('next_attempt_at')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? undefined : Number(row.next_attempt_at);
}

/** Changes a delivery that has one of the statuses; undefined if it has a different one. */
export async function changeDelivery(
  db: Queries,
  id: string,
  from: readonly DeliveryStatus[],
  changes: Updateable<DeliveriesTable>,
): Promise<DeliveryRow | undefined> {
  return db
    .updateTable('deliveries')
    .set(changes)
    .where('id', '=', id)
    .where('status', 'in', [...from])
    .returningAll()
    .executeTakeFirst();
}

/** Ends all pending deliveries to an endpoint, and returns their number. */
export async function cancelDeliveries(db: Queries, endpoint: string, reason: string, now: string): Promise<number> {
  const result = await db
    .updateTable('deliveries')
    .set({ status: 'cancelled', last_error: reason, next_attempt_at: null, completed_at: now })
    .where('endpoint', '=', endpoint)
    .where('status', '=', 'pending')
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/** Postpones deliveries to an endpoint that are due before this time (milliseconds). */
export async function holdDeliveries(db: Queries, endpoint: string, until: number): Promise<void> {
  await db
    .updateTable('deliveries')
    .set({ next_attempt_at: until })
    .where('endpoint', '=', endpoint)
    .where('status', '=', 'pending')
    .where('next_attempt_at', '<', until)
    .execute();
}

/** Makes the pending deliveries of an endpoint due (milliseconds), whatever they were waiting for. */
export async function makeDeliveriesDue(db: Queries, endpoint: string, now: number): Promise<void> {
  await db
    .updateTable('deliveries')
    .set({ next_attempt_at: now })
    .where('endpoint', '=', endpoint)
    .where('status', '=', 'pending')
    .where('next_attempt_at', '>', now)
    .execute();
}

export async function insertAttempt(db: Queries, attempt: Insertable<DeliveryAttemptsTable>): Promise<void> {
  await db.insertInto('delivery_attempts').values(attempt).execute();
}

export async function listAttempts(db: Queries, deliveryId: string): Promise<AttemptRow[]> {
  return db.selectFrom('delivery_attempts').selectAll().where('delivery_id', '=', deliveryId).orderBy('number').execute();
}

export async function findDelivery(db: Queries, teamId: string, id: string): Promise<DeliveryRow | undefined> {
  return db.selectFrom('deliveries').selectAll().where('id', '=', id).where('team_id', '=', teamId).executeTakeFirst();
}

/** The deliveries of an event, in the order in which they were recorded. */
export const deliveriesOf = (db: Queries, eventId: string): Promise<DeliveryRow[]> =>
  db.selectFrom('deliveries').selectAll().where('event_id', '=', eventId).orderBy('seq').execute();

export interface DeliveryFilter {
  teamId: string;
  subscriptionId?: string | undefined;
  runId?: string | undefined;
  kind?: WebhookEventKind | undefined;
  status?: DeliveryStatus | undefined;
}

/** Newest first. */
export async function listDeliveryRows(
  db: Queries,
  filter: DeliveryFilter,
  page: { limit: number; offset: number },
): Promise<{ rows: DeliveryRow[]; total: number }> {
  const rows = await filteredDeliveries(db, filter).selectAll().orderBy('seq', 'desc').limit(page.limit).offset(page.offset).execute();
  const { total } = await filteredDeliveries(db, filter)
    .select((select) => select.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return { rows, total: Number(total) };
}

function filteredDeliveries(db: Queries, { teamId, subscriptionId, runId, kind, status }: DeliveryFilter) {
  let query = db.selectFrom('deliveries').where('team_id', '=', teamId);
  if (subscriptionId !== undefined) query = query.where('subscription_id', '=', subscriptionId);
  if (runId !== undefined) query = query.where('run_id', '=', runId);
  if (kind !== undefined) query = query.where('kind', '=', kind);
  if (status !== undefined) query = query.where('status', '=', status);
  return query;
}

/** The IDs of up to `limit` deliveries that ended before this time (ISO 8601). */
export async function oldDeliveries(db: Queries, before: string, limit: number): Promise<string[]> {
  const rows = await db.selectFrom('deliveries').select('id').where('completed_at', '<', before).limit(limit).execute();
  return rows.map((row) => row.id);
}

/** The IDs of up to `limit` deliveries of a team that ended and are not among its newest `keep`. */
export async function surplusDeliveries(db: Queries, teamId: string, keep: number, limit: number): Promise<string[]> {
  const last = await db
    .selectFrom('deliveries')
    .select('seq')
    .where('team_id', '=', teamId)
    .orderBy('seq', 'desc')
    .offset(keep)
    .limit(1)
    .executeTakeFirst();
  if (last === undefined) return [];
  const rows = await db
    .selectFrom('deliveries')
    .select('id')
    .where('team_id', '=', teamId)
    .where('seq', '<=', last.seq)
    .where('completed_at', 'is not', null)
    .limit(limit)
    .execute();
  return rows.map((row) => row.id);
}

/** Removes deliveries with their attempts, and then events without references. */
export async function removeDeliveries(db: Queries, ids: string[]): Promise<void> {
  const events = await db.selectFrom('deliveries').select('event_id').distinct().where('id', 'in', ids).execute();
  await db.deleteFrom('delivery_attempts').where('delivery_id', 'in', ids).execute();
  await db.deleteFrom('deliveries').where('id', 'in', ids).execute();
  await db
    .deleteFrom('events')
    .where(
      'id',
      'in',
      events.map((row) => row.event_id),
    )
    .where((where) =>
      where.not(where.exists(where.selectFrom('deliveries').select('deliveries.id').whereRef('deliveries.event_id', '=', 'events.id'))),
    )
    .execute();
}

/** Removes deleted subscriptions that have no deliveries left. */
export async function removeDeletedWebhooks(db: Queries): Promise<void> {
  await db
    .deleteFrom('webhook_subscriptions')
    .where('deleted_at', 'is not', null)
    .where((where) =>
      where.not(
        where.exists(
          where.selectFrom('deliveries').select('deliveries.id').whereRef('deliveries.subscription_id', '=', 'webhook_subscriptions.id'),
        ),
      ),
    )
    .execute();
}
