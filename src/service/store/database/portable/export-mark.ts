/**
 * A mark in a database that is being exported. Whatever opens the database to work on it removes the mark, so an export that was
 * interrupted knows whether the rows that it has already written are still those of the database.
 */
import type { Queries } from '../database.ts';
import { touchSetting } from '../settings.ts';
import { ownSettings } from './tables.ts';

const name = ownSettings.exportMark;

/** The mark, if nothing has used the database since it was set. */
export async function exportMark(db: Queries): Promise<string | undefined> {
  return (await db.selectFrom('settings').select('value').where('name', '=', name).executeTakeFirst())?.value;
}

export const setExportMark = (db: Queries, mark: string): Promise<void> => touchSetting(db, name, mark);

/** Called by whatever opens the database to work on it. */
export async function removeExportMark(db: Queries): Promise<void> {
  await db.deleteFrom('settings').where('name', '=', name).execute();
}
