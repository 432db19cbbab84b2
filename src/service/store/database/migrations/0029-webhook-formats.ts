/** The form in which a webhook receives events. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  await sql.raw(`alter table webhook_subscriptions add column format text not null default 'standard'`).execute(db);
};

export const webhookFormats: Migration = { up };
