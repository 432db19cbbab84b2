/** Push subscriptions, and the pushes that are still to be sent to them. */
import type { Insertable } from 'kysely';
import type { Queries } from '../database/database.ts';
import { preparedQuery } from '../database/prepared.ts';
import type { PushMessageRow, PushSubscriptionRow, PushSubscriptionsTable } from '../database/schema.ts';

/** Stores a subscription in place of an earlier one with the same endpoint, whichever session it belonged to. */
export async function storePushSubscription(trx: Queries, row: Insertable<PushSubscriptionsTable>): Promise<void> {
  await trx.deleteFrom('push_subscriptions').where('endpoint_hash', '=', row.endpoint_hash).execute();
  await trx.insertInto('push_subscriptions').values(row).execute();
}

/** The subscriptions of a session, oldest first. */
export const pushSubscriptionsOf = (db: Queries, tokenHash: string): Promise<PushSubscriptionRow[]> =>
  db.selectFrom('push_subscriptions').selectAll().where('token_hash', '=', tokenHash).orderBy('created_at').orderBy('id').execute();

export async function findPushSubscription(db: Queries, id: string): Promise<PushSubscriptionRow | undefined> {
  return db.selectFrom('push_subscriptions').selectAll().where('id', '=', id).executeTakeFirst();
}

/** The IDs of the subscriptions of a team whose session has not expired at this time (milliseconds). */
export const pushSubscriptionsOfTeam = async (db: Queries, teamId: string, now: number): Promise<string[]> =>
  (await ofTeam.all(db, { teamId, now })).map(({ id }) => id);

const ofTeam = preparedQuery((db, { teamId, now }: { teamId: string; now: number }) =>
  db
    .selectFrom('push_subscriptions')
    .innerJoin('tokens', 'tokens.hash', 'push_subscriptions.token_hash')
    .select('push_subscriptions.id')
    .where('push_subscriptions.team_id', '=', teamId)
    .where((where) => where.or([where('tokens.expires_at', 'is', null), where('tokens.expires_at', '>', now)])),
);

/** Removes a subscription with its pushes. Returns whether it existed. */
export async function deletePushSubscription(db: Queries, id: string): Promise<boolean> {
  return (await db.deleteFrom('push_subscriptions').where('id', '=', id).executeTakeFirst()).numDeletedRows > 0n;
}

export async function deleteAllPushSubscriptions(db: Queries): Promise<void> {
  await db.deleteFrom('push_subscriptions').execute();
}

/** Records that a push about a request is due, in place of an earlier one about it. */
export async function insertPushMessage(trx: Queries, message: PushMessageRow): Promise<void> {
  const { tries, due_at } = message;
  await trx
    .insertInto('push_messages')
    .values(message)
    .onConflict((conflict) => conflict.columns(['subscription_id', 'request_id']).doUpdateSet({ tries, due_at }))
    .execute();
}

/** A push with what it says about its request. */
export interface DuePush extends PushMessageRow {
  title: string;
  isPending: boolean;
  run_id: string;
  run_number: number;
}

/** The push to a subscription that has been due for longest at this time (milliseconds). */
export async function duePush(db: Queries, subscriptionId: string, now: number): Promise<DuePush | undefined> {
  const row = await db
    .selectFrom('push_messages')
    .innerJoin('human_requests', 'human_requests.id', 'push_messages.request_id')
    .innerJoin('runs', 'runs.id', 'human_requests.run_id')
    .selectAll('push_messages')
    .select(['human_requests.title', 'human_requests.status', 'runs.id as run_id', 'runs.run_number'])
    .where('subscription_id', '=', subscriptionId)
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .orderBy('request_id')
    .limit(1)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { status, ...push } = row;
  return { ...push, isPending: status === 'pending' };
}

/** When the next push to a subscription is due, in milliseconds. */
export async function nextPushTime(db: Queries, subscriptionId: string): Promise<number | undefined> {
  const row = await db
    .selectFrom('push_messages')
    .select('due_at')
    .where('subscription_id', '=', subscriptionId)
    .orderBy('due_at')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? undefined : Number(row.due_at);
}

/** Removes a push that was sent or is no longer needed. */
export async function deletePushMessage(db: Queries, { subscription_id, request_id }: PushMessageRow): Promise<void> {
  await db.deleteFrom('push_messages').where('subscription_id', '=', subscription_id).where('request_id', '=', request_id).execute();
}

/** Postpones a push after a failed attempt. @param dueAt milliseconds */
export async function postponePush(db: Queries, { subscription_id, request_id, tries }: PushMessageRow, dueAt: number): Promise<void> {
  await db
    .updateTable('push_messages')
    .set({ tries: tries + 1, due_at: dueAt })
    .where('subscription_id', '=', subscription_id)
    .where('request_id', '=', request_id)
    .execute();
}
