/** Human requests. A run has at most one pending request. */
import { type Insertable, sql } from 'kysely';
import type { HumanAnswer } from '../../runtimes/run-host.ts';
import type { Queries } from '../database/database.ts';
import { bytesOf, fittingCount } from '../database/page-bytes.ts';
import { preparedQuery } from '../database/prepared.ts';
import type { HumanRequestRow, HumanRequestsTable, RunRow } from '../database/schema.ts';
import { noteRequestChange } from './request-events.ts';

/** Stores a request of a run. Call it in a transaction. */
export async function insertHumanRequest(trx: Queries, request: Insertable<HumanRequestsTable>): Promise<HumanRequestRow> {
  const row = await trx.insertInto('human_requests').values(request).returningAll().executeTakeFirstOrThrow();
  await noteRequestChange(trx, row, 'asked');
  return row;
}

export async function findHumanRequest(db: Queries, runId: string, id: string): Promise<HumanRequestRow | undefined> {
  return db.selectFrom('human_requests').selectAll().where('id', '=', id).where('run_id', '=', runId).executeTakeFirst();
}

// SQLite uses the index of pending requests only if it sees the value.
const pending = preparedQuery((db, { runId }: { runId: string }) =>
  db
    .selectFrom('human_requests')
    .selectAll()
    .where('run_id', '=', runId)
    .where('status', '=', sql<'pending'>`${sql.lit('pending')}`),
);

export const pendingRequest = (db: Queries, runId: string): Promise<HumanRequestRow | undefined> => pending.first(db, { runId });

/** The pending request of a run that was read: only a run that waits has one. */
export const requestOf = async (db: Queries, run: Pick<RunRow, 'id' | 'status'>): Promise<HumanRequestRow | undefined> =>
  run.status === 'waiting' ? pendingRequest(db, run.id) : undefined;

/** A request with the name of the credential that answered it. */
export type RecordedRequest = HumanRequestRow & { responder_name: string | null };

/** The requests of a run, oldest first. A page ends early if its rows are large. */
export async function listRequestRows(db: Queries, runId: string, page: { limit: number; offset: number }): Promise<RecordedRequest[]> {
  const requests = db
    .selectFrom('human_requests')
    .where('run_id', '=', runId)
    .orderBy('human_requests.created_at')
    .orderBy('human_requests.id')
    .offset(page.offset);
  const sizes = await requests
    .select(bytesOf('title', 'description', 'questions', 'response').as('bytes'))
    .limit(page.limit)
    .execute();
  return requests
    .leftJoin('credentials', 'credentials.id', 'human_requests.responder_id')
    .selectAll('human_requests')
    .select('credentials.name as responder_name')
    .limit(fittingCount(sizes.map(({ bytes }) => bytes)))
    .execute();
}

/** The number of requests of all turns of a run. */
export async function countRunRequests(db: Queries, runId: string): Promise<number> {
  const { total } = await db
    .selectFrom('human_requests')
    .select((select) => select.fn.countAll<number>().as('total'))
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow();
  return Number(total);
}

/** The pending requests of several runs, by run. */
export async function pendingRequests(db: Queries, runIds: string[]): Promise<Map<string, HumanRequestRow>> {
  if (runIds.length === 0) return new Map();
  const rows = await db.selectFrom('human_requests').selectAll().where('run_id', 'in', runIds).where('status', '=', 'pending').execute();
  return new Map(rows.map((row) => [row.run_id, row]));
}

/** The size of the pending requests of several runs in bytes, by run. */
export async function pendingRequestSizes(db: Queries, runIds: string[]): Promise<Map<string, number>> {
  if (runIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('human_requests')
    .select(['run_id', bytesOf('title', 'description', 'questions').as('bytes')])
    .where('run_id', 'in', runIds)
    .where('status', '=', 'pending')
    .execute();
  return new Map(rows.map((row) => [row.run_id, row.bytes]));
}

/** Stores the answer to a pending request. Call it in a transaction. */
export async function answerRequest(
  trx: Queries,
  id: string,
  answer: { answer: HumanAnswer; response: string; respondedAt: string; responderId: string },
): Promise<HumanRequestRow> {
  const row = await trx
    .updateTable('human_requests')
    .set({
      status: 'answered',
      answer: JSON.stringify(answer.answer),
      response: answer.response,
      responder_id: answer.responderId,
      responded_at: answer.respondedAt,
    })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .returningAll()
    .executeTakeFirstOrThrow();
  await noteRequestChange(trx, row, 'settled');
  return row;
}

/** Withdraws the pending request of a run, if any. Call it in a transaction. */
export async function withdrawRequests(trx: Queries, runId: string): Promise<void> {
  const rows = await trx
    .updateTable('human_requests')
    .set({ status: 'withdrawn' })
    .where('run_id', '=', runId)
    .where('status', '=', 'pending')
    .returningAll()
    .execute();
  for (const row of rows) await noteRequestChange(trx, row, 'settled');
}

/** The answers of a turn by step; for a step with several requests, the latest answer. */
export async function turnAnswers(db: Queries, runId: string, turn: number): Promise<Map<string, HumanAnswer>> {
  const rows = await answersOfTurn.all(db, { runId, turn });
  return new Map(rows.map((row) => [row.step, JSON.parse(row.answer as string) as HumanAnswer]));
}

const answersOfTurn = preparedQuery((db, { runId, turn }: { runId: string; turn: number }) =>
  db
    .selectFrom('human_requests')
    .select(['step', 'answer'])
    .where('run_id', '=', runId)
    .where('turn', '=', turn)
    .where('status', '=', 'answered')
    .orderBy('responded_at'),
);

export async function countRequests(db: Queries, runId: string, turn: number): Promise<number> {
  const { total } = await db
    .selectFrom('human_requests')
    .select((select) => select.fn.countAll<number>().as('total'))
    .where('run_id', '=', runId)
    .where('turn', '=', turn)
    .executeTakeFirstOrThrow();
  return Number(total);
}
