/**
 * What happens to a case when its run pauses, continues, or ends. If a run ends without having settled its case, the case is
 * completed or failed like the run. If a person stopped the run, the case has failed; otherwise the agent would take it again immediately.
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
/** How a run leaves its case. `released` means that the case goes back into the queue. */
export type CaseEnd =
  | { outcome: 'completed'; reason?: string | undefined }
  | { outcome: 'failed'; reason: string }
  | { outcome: 'postponed'; until: number; reason?: string | undefined }
  | { outcome: 'released'; reason: string };

/** The case that a run has claimed and not settled; undefined if it has none, or has lost it. */
export async function heldCase(trx: Queries, run: RunRow): Promise<CaseRow | undefined> {
  const row = run.case_id === null ? undefined : await caseById(trx, run.case_id);
  return row?.claimed_by_run_id === run.id && row.status === 'pending' ? row : undefined;
}

/** Ends the work of a run on the case that it has claimed. Wake the worker after the commit. */
export async function leaveCase(engine: HasClock, trx: Queries, run: RunRow, row: CaseRow, end: CaseEnd): Promise<CaseRow> {
  const now = isoTime(engine.clock.now());
  const changedRow = await changeCase(trx, row.id, { status: 'pending', runId: run.id }, { ...changes(end, now), updated_at: now });
  if (changedRow === undefined) throw new Error('the case has changed within the transaction');
  await record(trx, row, run, { type: end.outcome, reason: end.reason }, now);
  if (end.outcome === 'completed') {
    const queue = await trx.selectFrom('queues').selectAll().where('id', '=', row.queue_id).executeTakeFirstOrThrow();
    await recordEvents(engine.clock, trx, { teamId: run.team_id }, [caseEvent(trx, 'queue.case.completed', queue, changedRow, now)]);
  }
  await nudgeDispatch(trx, row.queue_id, engine.clock.now());
  return changedRow;
}

function changes(end: CaseEnd, now: string): Partial<CasesTable> {
  switch (end.outcome) {
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

/** Settles the case of a run, in the transaction in which the run ends. A case that the run has settled itself is left unchanged. */
export async function caseRunEnded(engine: HasClock, trx: Queries, run: RunRow, end: CaseEnd): Promise<void> {
  if (run.case_id === null) return;
  const claimedCase = await heldCase(trx, run);
  if (claimedCase !== undefined) await leaveCase(engine, trx, run, claimedCase, end);
  else await freeSlot(engine, trx, run);
}

/** Records that the case needs input, in the transaction in which its run starts to wait for a person. */
export async function caseRunAsked(engine: HasClock, trx: Queries, run: RunRow, request: HumanRequestRow): Promise<void> {
  const claimedCase = await heldCase(trx, run);
  if (claimedCase !== undefined)
    await record(trx, claimedCase, run, { type: 'needs_input', requestId: request.id }, isoTime(engine.clock.now()));
  // Even if the run has already settled its case: it is no longer being executed.
  await freeSlot(engine, trx, run);
}

/** Records that the case received input, in the transaction in which a person answers its run. */
export async function caseRunAnswered(engine: HasClock, trx: Queries, run: RunRow, request: HumanRequestRow): Promise<void> {
  const claimedCase = await heldCase(trx, run);
  if (claimedCase === undefined) return;
  const reason = request.response ?? undefined;
  await record(trx, claimedCase, run, { type: 'input_received', requestId: request.id, reason }, isoTime(engine.clock.now()));
}

/** Gives an interrupted run its case back, unless another run has it by now, in the transaction in which a message continues the run. */
export async function caseRunResumed(engine: HasClock, trx: Queries, run: RunRow): Promise<void> {
  if (run.case_id === null || run.status !== 'interrupted') return;
  const now = isoTime(engine.clock.now());
  const changedRow = await changeCase(trx, run.case_id, { status: 'failed', runId: run.id }, { status: 'pending', updated_at: now });
  if (changedRow !== undefined) await record(trx, changedRow, run, { type: 'resumed' }, now);
}

async function record(trx: Queries, row: CaseRow, run: RunRow, event: NewCaseEvent, now: string): Promise<void> {
  await insertCaseEvents(trx, [row.id], { ...event, runId: run.id, agentId: run.agent_id }, now);
  if (event.type === 'needs_input' || event.type === 'input_received') {
    await trx.updateTable('cases').set({ updated_at: now }).where('id', '=', row.id).execute();
  }
}

/** Dispatches the queue again, because the agent can take another case. */
async function freeSlot(engine: HasClock, trx: Queries, run: RunRow): Promise<void> {
  const row = run.case_id === null ? undefined : await caseById(trx, run.case_id);
  if (row !== undefined) await nudgeDispatch(trx, row.queue_id, engine.clock.now());
}
