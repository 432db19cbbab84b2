/** Files that runs recorded, such as screenshots. */
import type { Insertable } from 'kysely';
import type { Queries } from './database.ts';
import type { RunFileRow, RunFilesTable } from './schema.ts';

/** Records a file; one whose event the run's turn already has is left out. Tells whether it was recorded. */
export async function insertRunFile(db: Queries, file: Insertable<RunFilesTable>): Promise<boolean> {
  const result = await db
    .insertInto('run_files')
    .values(file)
    .onConflict((conflict) => conflict.columns(['run_id', 'turn', 'event_id']).doNothing())
    .executeTakeFirst();
  return (result.numInsertedOrUpdatedRows ?? 0n) > 0n;
}

export async function findRunFile(db: Queries, runId: string, id: string): Promise<RunFileRow | undefined> {
  return db.selectFrom('run_files').selectAll().where('id', '=', id).where('run_id', '=', runId).executeTakeFirst();
}

/** Oldest first. */
export async function listRunFiles(db: Queries, runId: string): Promise<RunFileRow[]> {
  return db.selectFrom('run_files').selectAll().where('run_id', '=', runId).orderBy('started_at').orderBy('created_at').execute();
}

export async function hasRunFiles(db: Queries, runId: string): Promise<boolean> {
  return (await db.selectFrom('run_files').select('id').where('run_id', '=', runId).limit(1).executeTakeFirst()) !== undefined;
}
