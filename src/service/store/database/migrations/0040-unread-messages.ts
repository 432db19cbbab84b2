/** Which message of a run in progress nothing has read yet, so that the run does not end without having acted on it. */
import { type Kysely, type Migration, sql } from 'kysely';

export const unreadMessages: Migration = {
  up: async (db: Kysely<never>): Promise<void> => {
    await sql`alter table runs add column unread_message integer`.execute(db);
  },
};
