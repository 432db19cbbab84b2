/** Messages of runs, in the order in which they were written. */
import type { Queries } from '../database/database.ts';
import { bytesOf, fittingCount } from '../database/page-bytes.ts';
import { preparedQuery } from '../database/prepared.ts';
import { lockRows } from '../database/row-locks.ts';
import type { MessageRow, NewMessage } from '../database/schema.ts';
import { asStored } from '../database/stored-values.ts';

/**
 * Appends messages, except those whose event the run's turn already contains. Call it in a transaction.
 * @param last the number of the run's last message, if the transaction has locked the run and read it
 */
export async function appendMessages(db: Queries, runId: string, messages: readonly NewMessage[], last?: number): Promise<MessageRow[]> {
  if (messages.length === 0) return [];
  await lockRows(db, 'runs', [runId]);
  let seq = last ?? (await countMessages(db, runId));
  const appendedRows: MessageRow[] = [];
  for (const message of messages) {
    const row = { ...message, seq: seq + 1 };
    if ((await insertQuery.change(db, row)) === 0) continue;
    seq += 1;
    appendedRows.push(asStored(row));
  }
  return appendedRows;
}

/** Appends a message to a run that is locked, like `appendMessages`, for a caller that need not know whether it is new. */
export async function sendMessage(trx: Queries, message: NewMessage, last: number): Promise<void> {
  await insertQuery.send(trx, { ...message, seq: last + 1 });
}

const insertQuery = preparedQuery((db, row: MessageRow) =>
  db
    .insertInto('messages')
    .values({
      run_id: row.run_id,
      seq: row.seq,
      id: row.id,
      turn: row.turn,
      event_id: row.event_id,
      type: row.type,
      role: row.role,
      text_content: row.text_content,
      tool_call: row.tool_call,
      tool_result: row.tool_result,
      timestamp: row.timestamp,
    })
    .onConflict((conflict) => conflict.columns(['run_id', 'turn', 'event_id']).where('event_id', 'is not', null).doNothing()),
);

/** How many messages a run has. Messages are never deleted, so this is the number of the last one. */
export async function countMessages(db: Queries, runId: string): Promise<number> {
  return Number((await lastNumber.only(db, { runId })).last ?? 0);
}

const lastNumber = preparedQuery((db, { runId }: { runId: string }) =>
  db
    .selectFrom('messages')
    .select((select) => select.fn.max('seq').as('last'))
    .where('run_id', '=', runId),
);

/** The messages of a page, oldest first; fewer than `limit` if they are large (see `fittingCount`). */
export async function listMessageRows(
  db: Queries,
  runId: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<MessageRow[]> {
  // Numbers have no gaps, so an offset is a number to start after.
  const sizes = (await sizesAfter.all(db, { runId, limit, offset })).map(({ bytes }) => bytes);
  return sizes.length === 0 ? [] : after.all(db, { runId, limit: fittingCount(sizes), offset });
}

/** The latest messages, the oldest of them first, and the number of all messages; fewer than `limit` if they are large. */
export async function latestMessageRows(db: Queries, runId: string, limit: number): Promise<{ rows: MessageRow[]; total: number }> {
  const total = await countMessages(db, runId);
  const sizes = (await sizesAfter.all(db, { runId, limit, offset: Math.max(0, total - limit) })).map(({ bytes }) => bytes);
  const count = fittingCount(sizes.reverse());
  return { rows: count === 0 ? [] : await after.all(db, { runId, limit: count, offset: total - count }), total };
}

const sizesAfter = preparedQuery((db, { runId, limit, offset }: { runId: string; limit: number; offset: number }) =>
  db
    .selectFrom('messages')
    .select(bytesOf('text_content', 'tool_call', 'tool_result').as('bytes'))
    .where('run_id', '=', runId)
    .where('seq', '>', offset)
    .orderBy('seq')
    .limit(limit),
);

const after = preparedQuery((db, { runId, limit, offset }: { runId: string; limit: number; offset: number }) =>
  db.selectFrom('messages').selectAll().where('run_id', '=', runId).where('seq', '>', offset).orderBy('seq').limit(limit),
);

/** The ID of the message with this number, if there is one. */
export const messageIdAt = async (db: Queries, runId: string, seq: number): Promise<string | undefined> =>
  (await idAt.first(db, { runId, seq }))?.id;

const idAt = preparedQuery((db, { runId, seq }: { runId: string; seq: number }) =>
  db.selectFrom('messages').select('id').where('run_id', '=', runId).where('seq', '=', seq),
);

/** The messages that people sent to a run after a message number, oldest first. */
export async function postedTexts(db: Queries, runId: string, after: number): Promise<{ seq: number; text: string; isAnswer: boolean }[]> {
  const rows = await postedAfter.all(db, { runId, after });
  return rows.map((row) => ({ seq: row.seq, text: row.text_content ?? '', isAnswer: row.event_id !== null }));
}

const postedAfter = preparedQuery((db, { runId, after: last }: { runId: string; after: number }) =>
  db
    .selectFrom('messages')
    .select(['seq', 'text_content', 'event_id'])
    .where('run_id', '=', runId)
    .where('role', '=', 'user')
    .where('type', '=', 'message')
    .where('seq', '>', last)
    .orderBy('seq'),
);

/** The message of the call that a result belongs to. Calls are identified by their event, and after the first turn also by the turn. */
export async function toolCallMessage(db: Queries, result: MessageRow, callId: string): Promise<MessageRow | undefined> {
  const eventId = result.turn === 1 ? callId : callId.slice(0, -`.${result.turn}`.length);
  return db
    .selectFrom('messages')
    .selectAll()
    .where('run_id', '=', result.run_id)
    .where('turn', '=', result.turn)
    .where('event_id', '=', eventId)
    .where('type', '=', 'tool_call')
    .executeTakeFirst();
}

/** Tool calls and results of a turn, for the execution report. */
export async function turnFigures(db: Queries, runId: string, turn: number): Promise<{ calls: number; results: number; errors: number }> {
  const rows = await db
    .selectFrom('messages')
    .select(['type', 'tool_result'])
    .where('run_id', '=', runId)
    .where('turn', '=', turn)
    .where('type', 'in', ['tool_call', 'tool_result'])
    .execute();
  const results = rows.filter((row) => row.type === 'tool_result');
  const errors = results.filter((row) => (JSON.parse(row.tool_result as string) as { error?: string }).error !== undefined);
  return { calls: rows.length - results.length, results: results.length, errors: errors.length };
}
