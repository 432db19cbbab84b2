/**
 * What becomes of a case when its run pauses, goes on or ends. A run that ends without having said anything of its case
 * has completed it, or failed it; one that a person stopped has failed it, or the queue's agent would begin again at once.
 */
import { insertCaseEvents, type NewCaseEvent } from '../../store/cases/case-events.ts';
import { caseById, changeCase } from '../../store/cases/cases.ts';
import type { Queries } from '../../store/database/database.ts';
import type { CaseRow, CasesTable, HumanRequestRow, RunRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import type { HasClock } from '../engine.ts';
import { caseEvent } from '../webhooks/case-events.ts';
import { recordEvents } from '../webhooks/events.ts';
import { nudgeDispatch } from './nudge.ts';
/** How a run leaves its case. `released`: it goes back into the queue. */
export type CaseEnd =
  | { how: 'completed'; reason?: string | undefined }
  | { how: 'failed'; reason: string }
  | { how: 'postponed'; until: number; reason?: string | undefined }
  | { how: 'released'; reason: string };

/** The case that a run holds and that is not done; undefined when it has none, or has lost it. */
export async function heldCase(trx: Queries, run: RunRow): Promise<CaseRow | undefined> {
  const row = run.case_id === null ? undefined : await caseById(trx, run.case_id);
  return row?.claimed_by_run_id === run.id && row.status === 'pending' ? row : undefined;
}

/** Ends the work of a run on the case that it holds. Wake the worker after the commit. */
export async function leaveCase(engine: HasClock, trx: Queries, run: RunRow, row: CaseRow, end: CaseEnd): Promise<CaseRow> {
  const now = isoTime(engine.clock.now());
  const left = await changeCase(trx, row.id, { status: 'pending', runId: run.id }, { ...changes(end, now), updated_at: now });
  if (left === undefined) throw new Error('the case has changed within the transaction');
  await record(trx, row, run, { type: end.how, reason: end.reason }, now);
  if (end.how === 'completed') {
    const queue = await trx.selectFrom('queues').selectAll().where('id', '=', row.queue_id).executeTakeFirstOrThrow();
    await recordEvents(engine.clock, trx, { teamId: run.team_id }, [caseEvent(trx, 'queue.case.completed', queue, left, now)]);
  }
  await nudgeDispatch(trx, row.queue_id, engine.clock.now());
  return left;
}

function changes(end: CaseEnd, now: string): Partial<CasesTable> {
  switch (end.how) {
    case 'completed':
      return { status: 'completed', completed_at: now, delegated_agent_id: null };
    case 'failed':
      return { status: 'failed', delegated_agent_id: null };
    case 'postponed':
      return { claimed_by_run_id: null, claimed_at: null, postponed_to: isoTime(end.until) };
    case 'released':
      return { claimed_by_run_id: null, claimed_at: null, delegated_agent_id: null };
  }
}

/** In the transaction in which a run ends. A case that it has said something of stays as that. */
export async function caseRunEnded(engine: HasClock, trx: Queries, run: RunRow, end: CaseEnd): Promise<void> {
  if (run.case_id === null) return;
  const held = await heldCase(trx, run);
  if (held !== undefined) await leaveCase(engine, trx, run, held, end);
  else await freePlace(engine, trx, run);
}

/** In the transaction in which a run begins to wait for a person. */
export async function caseRunAsked(engine: HasClock, trx: Queries, run: RunRow, request: HumanRequestRow): Promise<void> {
  const held = await heldCase(trx, run);
  if (held !== undefined) await record(trx, held, run, { type: 'needs_input', requestId: request.id }, isoTime(engine.clock.now()));
  // Also when it has settled its case before: it is not executed any more.
  await freePlace(engine, trx, run);
}

/** In the transaction in which a person answers what a run asked. */
export async function caseRunAnswered(engine: HasClock, trx: Queries, run: RunRow, request: HumanRequestRow): Promise<void> {
  const held = await heldCase(trx, run);
  if (held === undefined) return;
  const reason = request.response ?? undefined;
  await record(trx, held, run, { type: 'input_received', requestId: request.id, reason }, isoTime(engine.clock.now()));
}

/** In the transaction in which a message lets an interrupted run go on: it takes up its case again, unless that is another's by now. */
export async function caseRunResumed(engine: HasClock, trx: Queries, run: RunRow): Promise<void> {
  if (run.case_id === null || run.status !== 'interrupted') return;
  const now = isoTime(engine.clock.now());
  const taken = await changeCase(trx, run.case_id, { status: 'failed', runId: run.id }, { status: 'pending', updated_at: now });
  if (taken !== undefined) await record(trx, taken, run, { type: 'resumed' }, now);
}

async function record(trx: Queries, row: CaseRow, run: RunRow, event: NewCaseEvent, now: string): Promise<void> {
  await insertCaseEvents(trx, [row.id], { ...event, runId: run.id, agentId: run.agent_id }, now);
  if (event.type === 'needs_input' || event.type === 'input_received') {
    await trx.updateTable('cases').set({ updated_at: now }).where('id', '=', row.id).execute();
  }
}

/** The agent may take another case. */
async function freePlace(engine: HasClock, trx: Queries, run: RunRow): Promise<void> {
  const row = run.case_id === null ? undefined : await caseById(trx, run.case_id);
  if (row !== undefined) await nudgeDispatch(trx, row.queue_id, engine.clock.now());
}
