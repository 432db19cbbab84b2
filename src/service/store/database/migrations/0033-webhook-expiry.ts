/** When a temporary webhook is deleted. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  await sql.raw(`alter table webhook_subscriptions add column expires_at bigint`).execute(db);
};

export const webhookExpiry: Migration = { up };
