/** The whole content of a database, to check that something changes nothing. */
import { type Kysely, sql } from 'kysely';
import type { Database } from '../../../src/service/store/database/schema.ts';

/** Every row of every table. */
export async function allRows(db: Kysely<Database>): Promise<Record<string, unknown[]>> {
  const { rows } = await sql<{ name: string }>`select name from sqlite_master where type = 'table' order by name`.execute(db);
  const tables = await Promise.all(
    rows.map(async ({ name }) => [name, (await sql`select * from ${sql.table(name)}`.execute(db)).rows] as const),
  );
  return Object.fromEntries(tables);
}
