/** The nodes that use a database together. A node writes its row again every few seconds. */
import { type Kysely, type Migration, sql } from 'kysely';

const up = async (db: Kysely<never>): Promise<void> => {
  await sql
    .raw(
      `create table nodes (
        id text primary key,
        name text not null,
        url text not null,
        version text not null,
        connections integer not null,
        started_at text not null,
        seen_at integer not null
      )`,
    )
    .execute(db);
};

export const nodes: Migration = { up };
