/** Single cases, and several by their IDs. Lists are in case-list.ts, the order of work in case-line.ts. */
import type { Insertable, Updateable } from 'kysely';
import type { CaseStatus } from '../../../interface/types.ts';
import type { Queries } from '../database/database.ts';
import { lockIfDeciding, lockRows } from '../database/row-locks.ts';
import type { CaseRow, CasesTable } from '../database/schema.ts';
import { lineRanks } from './case-line.ts';

/** How many IDs one query contains: databases limit the parameters of a statement. */
const chunkSize = 500;

export function inChunks<T>(values: readonly T[]): T[][] {
  const chunks: T[][] = [];
  for (let start = 0; start < values.length; start += chunkSize) chunks.push(values.slice(start, start + chunkSize));
  return chunks;
}

/** Inserts cases with the queue's next numbers, in order. Call it in a transaction. */
export async function insertCases(
  db: Queries,
  queueId: string,
  cases: Omit<Insertable<CasesTable>, 'number' | 'queue_id' | 'line_rank'>[],
): Promise<CaseRow[]> {
  await lockRows(db, 'queues', [queueId]);
  const { last } = await db
    .selectFrom('cases')
    .select((select) => select.fn.max('number').as('last'))
    .where('queue_id', '=', queueId)
    .executeTakeFirstOrThrow();
  const first = Number(last ?? 0) + 1;
  const rows: CaseRow[] = [];
  // Few statements, because whoever adds cases to the queue, or changes it, waits for them.
  for (const chunk of inChunks(cases.map((row, index) => ({ ...inLine(row), queue_id: queueId, number: first + index }))))
    rows.push(...(await db.insertInto('cases').values(chunk).returningAll().execute()));
  return rows.sort((a, b) => a.number - b.number);
}

export async function caseById(db: Queries, id: string): Promise<CaseRow | undefined> {
  await lockIfDeciding(db, 'cases', id);
  return db.selectFrom('cases').selectAll().where('id', '=', id).executeTakeFirst();
}

export async function findCase(db: Queries, teamId: string, id: string): Promise<CaseRow | undefined> {
  await lockIfDeciding(db, 'cases', id);
  return db
    .selectFrom('cases')
    .innerJoin('queues', 'queues.id', 'cases.queue_id')
    .selectAll('cases')
    .where('cases.id', '=', id)
    .where('queues.team_id', '=', teamId)
    .executeTakeFirst();
}

/** The IDs that belong to cases of the queue. */
export async function casesOfQueue(db: Queries, queueId: string, ids: readonly string[]): Promise<CaseRow[]> {
  const rows: CaseRow[] = [];
  for (const chunk of inChunks([...new Set(ids)])) {
    rows.push(...(await db.selectFrom('cases').selectAll().where('queue_id', '=', queueId).where('id', 'in', chunk).execute()));
  }
  return rows;
}

/** A case that is postponed, or no longer postponed, changes its place in the order. */
function inLine<Changes extends { postponed_to?: string | null | undefined }>(changes: Changes): Changes & { line_rank?: number } {
  const { postponed_to } = changes;
  if (postponed_to === undefined) return changes;
  return { ...changes, line_rank: postponed_to === null ? lineRanks.waiting : lineRanks.postponed };
}

type CaseChanges = Omit<Updateable<CasesTable>, 'line_rank'>;

/** Changes a case that has the status and is claimed by this run, or by none; undefined otherwise. */
export async function changeCase(
  db: Queries,
  id: string,
  from: { status: CaseStatus; runId: string | null },
  changes: CaseChanges,
): Promise<CaseRow | undefined> {
  return db
    .updateTable('cases')
    .set(inLine(changes))
    .where('id', '=', id)
    .where('status', '=', from.status)
    .where('claimed_by_run_id', from.runId === null ? 'is' : '=', from.runId)
    .returningAll()
    .executeTakeFirst();
}

export async function updateCases(db: Queries, ids: readonly string[], changes: CaseChanges): Promise<void> {
  for (const chunk of inChunks(ids)) await db.updateTable('cases').set(inLine(changes)).where('id', 'in', chunk).execute();
}

/** Deletes cases with their labels and history. */
export async function deleteCaseRows(db: Queries, ids: readonly string[]): Promise<void> {
  for (const chunk of inChunks(ids)) {
    await db.deleteFrom('case_labels').where('case_id', 'in', chunk).execute();
    await db.deleteFrom('case_events').where('case_id', 'in', chunk).execute();
    await db.deleteFrom('cases').where('id', 'in', chunk).execute();
  }
}

/** The IDs of all cases of a queue. */
export async function caseIdsOf(db: Queries, queueId: string): Promise<string[]> {
  return (await db.selectFrom('cases').select('id').where('queue_id', '=', queueId).execute()).map(({ id }) => id);
}
