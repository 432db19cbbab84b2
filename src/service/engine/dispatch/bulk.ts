/** Changes that people make to cases: to one, several, or all that match a filter. Each change is one transaction. */
import type { CasePriority, CaseStatus } from '../../../interface/types.ts';
import { insertCaseEvents, type NewCaseEvent } from '../../store/cases/case-events.ts';
import { caseIdsOf, deleteCaseRows, inChunks, updateCases } from '../../store/cases/cases.ts';
import type { Queries } from '../../store/database/database.ts';
import { isShared, lockLateRow, lockRows } from '../../store/database/row-locks.ts';
import type { CaseRow, QueueRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { executingCaseRuns } from '../../store/runs/runs.ts';
import { priorityRank } from '../../views/cases.ts';
import { nudgeDispatch } from '../cases/nudge.ts';
import type { HasClock } from '../engine.ts';
import { interruptRun } from '../runs/lifecycle.ts';
import { caseEvent } from '../webhooks/case-events.ts';
import { recordEvents } from '../webhooks/events.ts';

const idsOf = (rows: readonly CaseRow[]): string[] => rows.map(({ id }) => id);

/**
 * Locks what changes of cases lock before the cases themselves (row-locks.ts): the runs that are being executed for them. Not the team,
 * which could not start runs while many cases are being changed. So another run may take or continue one of the cases before it is locked.
 * @param findIds finds the cases of the team, which can be others once they are locked
 */
export async function lockRunsOf(trx: Queries, findIds: () => Promise<readonly string[]>): Promise<void> {
  if (!isShared(trx)) return;
  const runIds: string[] = [];
  for (const chunk of inChunks(await findIds())) runIds.push(...(await executingCaseRuns(trx, chunk)));
  await lockRows(trx, 'runs', runIds);
}

/** The IDs of all cases of a queue that is locked, as they are until the transaction ends. */
export async function lockedCaseIds(trx: Queries, queueId: string): Promise<string[]> {
  if (isShared(trx)) await lockRows(trx, 'cases', await caseIdsOf(trx, queueId));
  return caseIdsOf(trx, queueId);
}

/**
 * Deletes cases that are locked, and interrupts the runs that are being executed for them; pass their IDs to `abortDrivers` after the commit. A
 * run that waits for a person keeps waiting: its request can still be answered.
 */
export async function deleteCases(engine: HasClock, trx: Queries, queueId: string, ids: readonly string[]): Promise<string[]> {
  // The cases are deleted before their runs end, so that the end of a run has nothing to settle.
  await deleteCaseRows(trx, ids);
  const interruptedIds = await interruptCaseRuns(engine, trx, ids);
  await nudgeDispatch(trx, queueId, engine.clock.now());
  return interruptedIds;
}

/** Sets the status. `pending` re-opens the case: it waits to be claimed again, even if a run has it. */
export async function setStatus(
  engine: HasClock,
  trx: Queries,
  queue: QueueRow,
  rows: readonly CaseRow[],
  status: CaseStatus,
): Promise<{ changedRows: CaseRow[]; interruptedIds: string[] }> {
  if (status === 'pending') {
    const changedRows = rows.filter((row) => row.status !== 'pending' || row.claimed_by_run_id !== null || row.postponed_to !== null);
    return { changedRows, interruptedIds: await putBack(engine, trx, queue, changedRows, { type: 'reopened' }) };
  }
  const changedRows = rows.filter((row) => row.status !== status);
  const now = isoTime(engine.clock.now());
  const ids = idsOf(changedRows);
  await updateCases(trx, ids, {
    status,
    completed_at: status === 'completed' ? now : null,
    postponed_to: null,
    delegated_agent_id: null,
    updated_at: now,
  });
  await insertCaseEvents(trx, ids, { type: status, reason: 'Set by a person.' }, now);
  if (status === 'completed') {
    const events = changedRows.map((row) =>
      caseEvent(trx, 'queue.case.completed', queue, { ...row, status, completed_at: now, postponed_to: null, updated_at: now }, now),
    );
    await recordEvents(engine.clock, trx, { teamId: queue.team_id }, events);
  }
  // A run that waits for a person no longer occupies a slot of its agent.
  await nudgeDispatch(trx, queue.id, engine.clock.now());
  return { changedRows, interruptedIds: [] };
}

/** Puts cases that no run is working on back into the line of the queue, or of one agent. The others are left unchanged. */
export async function reprocess(
  engine: HasClock,
  trx: Queries,
  queue: QueueRow,
  rows: readonly CaseRow[],
  agentId: string | undefined,
): Promise<{ changedRows: CaseRow[]; interruptedIds: string[] }> {
  const idleRows = rows.filter((row) => row.status !== 'pending' || row.claimed_by_run_id === null);
  if (agentId !== undefined) {
    return { changedRows: idleRows, interruptedIds: await putBack(engine, trx, queue, idleRows, { type: 'delegated', agentId }) };
  }
  const changedRows = idleRows.filter((row) => row.status !== 'pending' || row.postponed_to !== null || row.delegated_agent_id !== null);
  return { changedRows, interruptedIds: await putBack(engine, trx, queue, changedRows, { type: 'reopened' }) };
}

/** Changes the priority, including that of work in progress, which is not interrupted. */
export async function setPriority(engine: HasClock, trx: Queries, rows: readonly CaseRow[], priority: CasePriority): Promise<CaseRow[]> {
  const rank = priorityRank(priority);
  const changedRows = rows.filter((row) => row.priority !== rank);
  const now = isoTime(engine.clock.now());
  await updateCases(trx, idsOf(changedRows), { priority: rank, updated_at: now });
  await insertCaseEvents(trx, idsOf(changedRows), { type: 'priority_changed', reason: priority }, now);
  return changedRows;
}

const pendingState = { status: 'pending', claimed_at: null, claimed_by_run_id: null, completed_at: null, postponed_to: null } as const;

/** Puts cases back into the line, or into that of the agent in the event, and interrupts the runs that are being executed for them. */
async function putBack(engine: HasClock, trx: Queries, queue: QueueRow, rows: readonly CaseRow[], event: NewCaseEvent): Promise<string[]> {
  const now = isoTime(engine.clock.now());
  // The cases are released before their runs end, which would otherwise settle them.
  await updateCases(trx, idsOf(rows), { ...pendingState, delegated_agent_id: event.agentId ?? null, updated_at: now });
  // Including a run that has settled its case and continues: a case has one run at a time.
  const interruptedIds = await interruptCaseRuns(engine, trx, idsOf(rows));
  await insertCaseEvents(trx, idsOf(rows), event, now);
  await nudgeDispatch(trx, queue.id, engine.clock.now());
  return interruptedIds;
}

async function interruptCaseRuns(engine: HasClock, trx: Queries, caseIds: readonly string[]): Promise<string[]> {
  const interruptedIds: string[] = [];
  for (const chunk of inChunks(caseIds)) {
    for (const id of await executingCaseRuns(trx, chunk)) {
      // A run that was started after `lockRunsOf`.
      await lockLateRow(trx, 'runs', id);
      await interruptRun(engine, trx, id);
      interruptedIds.push(id);
    }
  }
  return interruptedIds;
}
