/** What people do to cases: one, those named, all that match. Each change is one transaction. */
import type { CasePriority, CaseStatus } from '../../../interface/types.ts';
import { insertCaseEvents } from '../../store/case-events.ts';
import { deleteCaseRows, inChunks, updateCases } from '../../store/cases.ts';
import type { Queries } from '../../store/database.ts';
import { executingCaseRuns } from '../../store/runs.ts';
import type { CaseRow, QueueRow } from '../../store/schema.ts';
import { isoTime } from '../../store/time.ts';
import { priorityRank } from '../../views/cases.ts';
import type { Engine } from '../engine.ts';
import { interruptRun } from '../lifecycle.ts';
import { caseEvent } from '../webhooks/case-events.ts';
import { recordEvents } from '../webhooks/events.ts';
import { nudgeDispatch } from './nudge.ts';

type Parts = Pick<Engine, 'clock'>;
const idsOf = (rows: readonly CaseRow[]): string[] => rows.map(({ id }) => id);

/**
 * Deletes cases and interrupts the runs that are executed for them; hand their ids to `abortDrivers` after the commit. A
 * run that waits for a person goes on waiting: its request can still be answered.
 */
export async function deleteCases(engine: Parts, trx: Queries, queueId: string, ids: readonly string[]): Promise<string[]> {
  // Gone before their runs end: nothing is left for the end of a run to settle.
  await deleteCaseRows(trx, ids);
  const interrupted = await interruptCaseRuns(engine, trx, ids);
  await nudgeDispatch(trx, queueId, engine.clock.now());
  return interrupted;
}

/** Sets the status. `pending` re-opens: the case waits to be taken again, whoever holds it. */
export async function setStatus(
  engine: Parts,
  trx: Queries,
  queue: QueueRow,
  rows: readonly CaseRow[],
  status: CaseStatus,
): Promise<{ changed: CaseRow[]; interrupted: string[] }> {
  if (status === 'pending') {
    const changed = rows.filter((row) => row.status !== 'pending' || row.claimed_by_run_id !== null || row.postponed_to !== null);
    return { changed, interrupted: await reopen(engine, trx, queue, changed) };
  }
  const changed = rows.filter((row) => row.status !== status);
  const now = isoTime(engine.clock.now());
  const ids = idsOf(changed);
  await updateCases(trx, ids, {
    status,
    completed_at: status === 'completed' ? now : null,
    postponed_to: null,
    delegated_agent_id: null,
    updated_at: now,
  });
  await insertCaseEvents(trx, ids, { type: status, reason: 'Set by a person.' }, now);
  if (status === 'completed') {
    const events = changed.map((row) =>
      caseEvent(trx, 'queue.case.completed', queue, { ...row, status, completed_at: now, postponed_to: null, updated_at: now }, now),
    );
    await recordEvents(engine.clock, trx, { teamId: queue.team_id }, events);
  }
  return { changed, interrupted: [] };
}

/** Puts cases that nobody works on back into the line: of the queue, or of one agent. The others are left alone. */
export async function reprocess(
  engine: Parts,
  trx: Queries,
  queue: QueueRow,
  rows: readonly CaseRow[],
  agentId: string | undefined,
): Promise<CaseRow[]> {
  const idle = rows.filter((row) => row.status !== 'pending' || row.claimed_by_run_id === null);
  if (agentId === undefined) {
    const changed = idle.filter((row) => row.status !== 'pending' || row.postponed_to !== null || row.delegated_agent_id !== null);
    await reopen(engine, trx, queue, changed);
    return changed;
  }
  const now = isoTime(engine.clock.now());
  await updateCases(trx, idsOf(idle), { ...waiting, delegated_agent_id: agentId, updated_at: now });
  await insertCaseEvents(trx, idsOf(idle), { type: 'delegated', agentId }, now);
  await nudgeDispatch(trx, queue.id, engine.clock.now());
  return idle;
}

/** Changes the priority, of work that is going on too; it interrupts nothing. */
export async function setPriority(engine: Parts, trx: Queries, rows: readonly CaseRow[], priority: CasePriority): Promise<CaseRow[]> {
  const rank = priorityRank(priority);
  const changed = rows.filter((row) => row.priority !== rank);
  const now = isoTime(engine.clock.now());
  await updateCases(trx, idsOf(changed), { priority: rank, updated_at: now });
  await insertCaseEvents(trx, idsOf(changed), { type: 'priority_changed', reason: priority }, now);
  return changed;
}

const waiting = { status: 'pending', claimed_at: null, claimed_by_run_id: null, completed_at: null, postponed_to: null } as const;

async function reopen(engine: Parts, trx: Queries, queue: QueueRow, rows: readonly CaseRow[]): Promise<string[]> {
  const now = isoTime(engine.clock.now());
  // Let go of before their runs end, which would settle them otherwise.
  await updateCases(trx, idsOf(rows), { ...waiting, delegated_agent_id: null, updated_at: now });
  const interrupted = await interruptCaseRuns(engine, trx, idsOf(rows));
  await insertCaseEvents(trx, idsOf(rows), { type: 'reopened' }, now);
  await nudgeDispatch(trx, queue.id, engine.clock.now());
  return interrupted;
}

async function interruptCaseRuns(engine: Parts, trx: Queries, caseIds: readonly string[]): Promise<string[]> {
  const interrupted: string[] = [];
  for (const chunk of inChunks(caseIds)) {
    for (const id of await executingCaseRuns(trx, chunk)) {
      await interruptRun(engine, trx, id);
      interrupted.push(id);
    }
  }
  return interrupted;
}
