/** What webhooks are told of cases: the case as a read at that moment shows it, and its queue. */

import type { Queries } from '../../store/database/database.ts';
import type { CaseRow, QueueRow } from '../../store/database/schema.ts';
import { caseViews } from '../../views/cases.ts';
import type { NewEvent } from './events.ts';

type CaseEventKind = 'queue.case.created' | 'queue.case.claimed' | 'queue.case.completed';

export const caseEvent = (trx: Queries, kind: CaseEventKind, queue: QueueRow, row: CaseRow, now: string): NewEvent => ({
  kind,
  data: async () => {
    const [shown] = await caseViews(trx, [row], now);
    return { case: shown, queue: { id: queue.id, name: queue.name } };
  },
});
