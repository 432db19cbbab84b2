/** Adds cases to a queue. */

import type { NewCase } from '../../../interface/types.ts';
import { newId } from '../../ids.ts';
import { insertCaseEvents } from '../../store/cases/case-events.ts';
import { insertCases } from '../../store/cases/cases.ts';
import { linkLabels } from '../../store/cases/labels.ts';
import type { Queries } from '../../store/database/database.ts';
import type { CaseRow, QueueRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { priorityRank } from '../../views/cases.ts';
import type { HasClock } from '../engine.ts';
import { caseEvent } from '../webhooks/case-events.ts';
import { recordEvents } from '../webhooks/events.ts';
import { ensureLabel } from './labels.ts';
import { nudgeDispatch } from './nudge.ts';

/** The run that adds cases, if any, and the agent that they are delegated to. */
export interface CaseOrigin {
  runId?: string;
  agentId?: string;
  delegatedAgentId?: string | undefined;
}

/** Adds cases within a transaction of the caller, which must wake the worker after the commit. */
export async function createCases(
  engine: HasClock,
  trx: Queries,
  queue: QueueRow,
  drafts: readonly NewCase[],
  origin: CaseOrigin = {},
): Promise<CaseRow[]> {
  const time = engine.clock.now();
  const now = isoTime(time);
  const rows = await insertCases(
    trx,
    queue.id,
    drafts.map((draft) => ({
      id: newId(),
      title: draft.title,
      data: draft.data ?? '',
      search_text: `${draft.title}\n${draft.data ?? ''}`.toLowerCase(),
      status: 'pending',
      priority: priorityRank(draft.priority ?? 'none'),
      delegated_agent_id: origin.delegatedAgentId ?? null,
      claimed_at: null,
      claimed_by_run_id: null,
      completed_at: null,
      postponed_to: null,
      created_at: now,
      updated_at: now,
    })),
  );
  const labelIds = new Map<string, string>();
  for (const [index, { labels = [] }] of drafts.entries()) {
    const ids: string[] = [];
    for (const label of labels) {
      const name = JSON.stringify([label.key ?? '', label.value]);
      const id = labelIds.get(name) ?? (await ensureLabel(trx, queue.id, label, now)).id;
      labelIds.set(name, id);
      ids.push(id);
    }
    await linkLabels(trx, (rows[index] as CaseRow).id, ids);
  }
  const ids = rows.map(({ id }) => id);
  await insertCaseEvents(trx, ids, { type: 'created', runId: origin.runId, agentId: origin.agentId }, now);
  const events = rows.map((row) => caseEvent(trx, 'queue.case.created', queue, row, now));
  await recordEvents(engine.clock, trx, { teamId: queue.team_id }, events);
  await nudgeDispatch(trx, queue.id, time);
  return rows;
}
