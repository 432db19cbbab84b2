/** Files that runs have recorded, such as screenshots. */
import type { Insertable } from 'kysely';
import type { Queries } from '../database/database.ts';
import type { RunFileRow, RunFilesTable } from '../database/schema.ts';

/** The key of a file's bytes in the file store. */
export const runFileKey = ({ id, run_id }: Pick<RunFileRow, 'id' | 'run_id'>): string => `${run_id}/${id}`;

/** Records a file unless the run's turn already contains its event. Resolves to whether it was recorded. */
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

/** The files of some events of a run's turn. */
export async function filesOfEvents(db: Queries, runId: string, turn: number, eventIds: readonly string[]): Promise<RunFileRow[]> {
  if (eventIds.length === 0) return [];
  return db
    .selectFrom('run_files')
    .selectAll()
    .where('run_id', '=', runId)
    .where('turn', '=', turn)
    .where('event_id', 'in', [...eventIds])
    .execute();
}

/** In no particular order. */
export async function listRunFiles(db: Queries, runId: string): Promise<RunFileRow[]> {
  return db.selectFrom('run_files').selectAll().where('run_id', '=', runId).execute();
}
