/** Single values of a data directory, such as its signing key. */
import type { Queries } from './database.ts';

/** The value of a setting, created and stored by the first call. */
export async function settingOrCreate(db: Queries, name: string, create: () => string): Promise<string> {
  const existing = await db.selectFrom('settings').select('value').where('name', '=', name).executeTakeFirst();
  if (existing !== undefined) return existing.value;
  await db
    .insertInto('settings')
    .values({ name, value: create() })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
  return (await db.selectFrom('settings').select('value').where('name', '=', name).executeTakeFirstOrThrow()).value;
}

/** Writes a setting, and replaces an existing value. */
export async function touchSetting(db: Queries, name: string, value: string): Promise<void> {
  await db
    .insertInto('settings')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
}
