/** Single values of a data directory: its signing key, for example. */
import type { Queries } from './database.ts';

/** The setting, made and kept by the first who asks for it. */
export async function settingOrCreate(db: Queries, name: string, create: () => string): Promise<string> {
  await db
    .insertInto('settings')
    .values({ name, value: create() })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
  return (await db.selectFrom('settings').select('value').where('name', '=', name).executeTakeFirstOrThrow()).value;
}

/** Writes a value of its own, whatever was there. */
export async function touchSetting(db: Queries, name: string, value: string): Promise<void> {
  await db
    .insertInto('settings')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
}
