/** Webhook subscriptions, and the secrets that sign their deliveries. */
import type { Insertable, Updateable } from 'kysely';
import { cachedQuery } from '../database/cached.ts';
import type { Queries } from '../database/database.ts';
import { preparedQuery } from '../database/prepared.ts';
import { lockIfDeciding } from '../database/row-locks.ts';
import type { WebhookRow, WebhookSecretRow, WebhookSecretsTable, WebhookSubscriptionsTable } from '../database/schema.ts';

export async function insertWebhook(db: Queries, webhook: Insertable<WebhookSubscriptionsTable>): Promise<WebhookRow> {
  return db.insertInto('webhook_subscriptions').values(webhook).returningAll().executeTakeFirstOrThrow();
}

/** Oldest first, excluding deleted ones. */
export const listWebhookRows = (db: Queries, teamId: string): Promise<WebhookRow[]> => ofTeam.all(db, { teamId });

const ofTeam = preparedQuery((db, { teamId }: { teamId: string }) =>
  db
    .selectFrom('webhook_subscriptions')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('deleted_at', 'is', null)
    .orderBy('created_at')
    .orderBy('id'),
);

/** The same for transactions that record events: most changes of a run do. */
export const recipientRows = cachedQuery(['webhook_subscriptions'], ofTeam);

export async function findWebhook(db: Queries, teamId: string, id: string): Promise<WebhookRow | undefined> {
  await lockIfDeciding(db, 'webhook_subscriptions', id);
  return db
    .selectFrom('webhook_subscriptions')
    .selectAll()
    .where('id', '=', id)
    .where('team_id', '=', teamId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
}

/** When a temporary subscription is deleted, in milliseconds; undefined if it is not temporary, or has been deleted. */
export async function webhookExpiryOf(db: Queries, id: string): Promise<number | undefined> {
  await lockIfDeciding(db, 'webhook_subscriptions', id);
  const row = await db
    .selectFrom('webhook_subscriptions')
    .select('expires_at')
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return row?.expires_at == null ? undefined : Number(row.expires_at);
}

/** Changes a subscription; undefined if it has been deleted. */
export async function updateWebhookRow(
  db: Queries,
  id: string,
  changes: Updateable<WebhookSubscriptionsTable>,
): Promise<WebhookRow | undefined> {
  return db
    .updateTable('webhook_subscriptions')
    .set(changes)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .returningAll()
    .executeTakeFirst();
}

export async function insertSecret(db: Queries, secret: Insertable<WebhookSecretsTable>): Promise<WebhookSecretRow> {
  return db.insertInto('webhook_secrets').values(secret).returningAll().executeTakeFirstOrThrow();
}

/** The secrets that sign at this time (milliseconds), the current one first. */
export async function validSecrets(db: Queries, teamId: string, now: number): Promise<WebhookSecretRow[]> {
  const rows = await db
    .selectFrom('webhook_secrets')
    .selectAll()
    .where('team_id', '=', teamId)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
    .execute();
  return rows.sort((a, b) => Number(b.expires_at === null) - Number(a.expires_at === null));
}

/** Makes the team's current secret expire at this time (milliseconds). */
export async function expireCurrentSecret(db: Queries, teamId: string, expiresAt: number): Promise<void> {
  await db
    .updateTable('webhook_secrets')
    .set({ expires_at: expiresAt })
    .where('team_id', '=', teamId)
    .where('expires_at', 'is', null)
    .execute();
}

/** Removes the secrets that have expired. */
export async function dropExpiredSecrets(db: Queries, teamId: string): Promise<void> {
  await db.deleteFrom('webhook_secrets').where('team_id', '=', teamId).where('expires_at', 'is not', null).execute();
}
