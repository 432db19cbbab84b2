/** Webhook events about cases: the case, as a read at that moment would return it, and its queue. */

import type { Queries } from '../../store/database/database.ts';
import type { CaseRow, QueueRow } from '../../store/database/schema.ts';
import { caseViews } from '../../views/cases.ts';
import type { NewEvent } from './events.ts';

type CaseEventKind = 'queue.case.created' | 'queue.case.claimed' | 'queue.case.completed';

export const caseEvent = (trx: Queries, kind: CaseEventKind, queue: QueueRow, row: CaseRow, now: string): NewEvent => ({
  kind,
  data: async () => {
    const [view] = await caseViews(trx, [row], now);
    return { case: view, queue: { id: queue.id, name: queue.name } };
  },
});
