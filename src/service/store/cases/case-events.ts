/** The history of cases. */
import { newId } from '../../ids.ts';
import type { Queries } from '../database/database.ts';
import { lockRows } from '../database/row-locks.ts';
import type { CaseEventRow } from '../database/schema.ts';
import { inChunks } from './cases.ts';

export type CaseEventType =
  | 'created'
  | 'claimed'
  | 'needs_input'
  | 'input_received'
  | 'postponed'
  | 'completed'
  | 'failed'
  | 'resumed'
  | 'released'
  | 'reopened'
  | 'delegated'
  | 'priority_changed';

export interface NewCaseEvent {
  type: CaseEventType;
  reason?: string | undefined;
  runId?: string | undefined;
  requestId?: string | undefined;
  agentId?: string | undefined;
}

/** Records the same event for each of the cases. Call it in a transaction. */
export async function insertCaseEvents(db: Queries, caseIds: readonly string[], event: NewCaseEvent, now: string): Promise<void> {
  await lockRows(db, 'cases', caseIds);
  for (const chunk of inChunks(caseIds)) {
    const lastRows = await db
      .selectFrom('case_events')
      .select((select) => ['case_id', select.fn.max('seq').as('last')])
      .where('case_id', 'in', chunk)
      .groupBy('case_id')
      .execute();
    const last = new Map(lastRows.map((row) => [row.case_id, Number(row.last)]));
    const rows = chunk.map((case_id) => ({
      id: newId(),
      case_id,
      seq: (last.get(case_id) ?? 0) + 1,
      type: event.type,
      reason: event.reason ?? null,
      run_id: event.runId ?? null,
      human_request_id: event.requestId ?? null,
      agent_id: event.agentId ?? null,
      created_at: now,
    }));
    await db.insertInto('case_events').values(rows).execute();
  }
}

export type ListedCaseEvent = CaseEventRow & { agent_name: string | null; human_request_title: string | null };

/** Oldest first. */
export async function listCaseEvents(db: Queries, caseId: string): Promise<ListedCaseEvent[]> {
  return db
    .selectFrom('case_events')
    .leftJoin('agents', 'agents.id', 'case_events.agent_id')
    .leftJoin('human_requests', 'human_requests.id', 'case_events.human_request_id')
    .selectAll('case_events')
    .select(['agents.name as agent_name', 'human_requests.title as human_request_title'])
    .where('case_events.case_id', '=', caseId)
    .orderBy('case_events.seq')
    .execute();
}
