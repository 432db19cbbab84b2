/**
 * Which files of the file store no other row refers to. The key of a file is inserted here before its first byte is written, and
 * deleted by the transaction that refers to the file; the transaction that removes the last reference inserts it again. So a crash
 * leaves no file that nobody knows, and a file that is being referred to is never removed: either of the two changes the row first.
 */
import type { Queries } from '../database/database.ts';

/** Rows per statement. */
const pageSize = 500;

function* pagesOf<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let start = 0; start < items.length; start += pageSize) yield items.slice(start, start + pageSize);
}

/** Records files that are about to be written. @param removeAt milliseconds; those that nothing refers to then are removed */
export async function insertNewFiles(db: Queries, keys: readonly string[], removeAt: number): Promise<void> {
  for (const page of pagesOf(keys)) {
    const rows = page.map((key) => ({ key, removable: 0, remove_at: removeAt }));
    await db.insertInto('unreferenced_files').values(rows).execute();
  }
}

/** Records that other rows refer to new files now. Returns whether they all exist: none was decided to be removed. */
export async function referToFiles(trx: Queries, keys: readonly string[]): Promise<boolean> {
  let count = 0n;
  for (const page of pagesOf(keys)) {
    const { numDeletedRows } = await trx
      .deleteFrom('unreferenced_files')
      .where('key', 'in', [...page])
      .where('removable', '=', 0)
      .executeTakeFirst();
    count += numDeletedRows;
  }
  return Number(count) === new Set(keys).size;
}

/** Records that nothing refers to files any more. @param removeAt milliseconds; from then on, they are removed */
export async function insertRemovableFiles(trx: Queries, keys: readonly string[], removeAt: number): Promise<void> {
  for (const page of pagesOf(keys)) {
    const rows = page.map((key) => ({ key, removable: 1, remove_at: removeAt }));
    await trx
      .insertInto('unreferenced_files')
      .values(rows)
      .onConflict((conflict) => conflict.column('key').doUpdateSet({ removable: 1, remove_at: removeAt }))
      .execute();
  }
}

/** Decides that those of these files that nothing refers to are removed. Returns their keys. */
export async function takeUnreferenced(trx: Queries, keys: readonly string[]): Promise<string[]> {
  const taken: string[] = [];
  for (const page of pagesOf(keys)) {
    const rows = await trx
      .updateTable('unreferenced_files')
      .set({ removable: 1 })
      .where('key', 'in', [...page])
      .returning('key')
      .execute();
    for (const { key } of rows) taken.push(key);
  }
  return taken;
}

/** Up to `limit` files that nothing refers to although they should have been referred to, or removed, by `now` (milliseconds). */
export async function overdueFiles(db: Queries, now: number, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('unreferenced_files')
    .select('key')
    .where('remove_at', '<=', now)
    .orderBy('remove_at')
    .limit(limit)
    .execute();
  return rows.map(({ key }) => key);
}

/** Forgets files that have been removed. */
export async function deleteUnreferenced(db: Queries, keys: readonly string[]): Promise<void> {
  for (const page of pagesOf(keys))
    await db
      .deleteFrom('unreferenced_files')
      .where('key', 'in', [...page])
      .where('removable', '=', 1)
      .execute();
}
