/** How cases are displayed. */

import { uuid } from '../../cli/kit/checks.ts';
import { argument } from '../../cli/kit/flags.ts';
import { column, idColumn, status, statusColumn, time, timeColumn, wideView } from '../../cli/kit/output.ts';
import { labelText } from '../../cli/names/label.ts';
import type { Case } from '../../interface/types.ts';

/** The argument for a case. */
export const caseArgument = argument('The ID of the case', { check: uuid, complete: 'cases' });

export const labelTexts = (row: Case): string => row.labels.map(labelText).join(', ');

/** People recognise a case by its title, so at 80 columns the less important columns are left out. */
export const caseColumns = [
  idColumn((row: Case) => row.id),
  statusColumn((row: Case) => row.display_status),
  column('PRIORITY', (row: Case) => row.priority),
  column('TITLE', (row: Case) => row.title, { shrink: true }),
  column('LABELS', labelTexts, { shrink: true, minViewWidth: wideView }),
  timeColumn('UPDATED', (row: Case) => row.updated_at, { minViewWidth: wideView }),
];

export const caseRecord = (row: Case) => ({
  ID: row.id,
  Title: row.title,
  Status: status(row.display_status),
  Priority: row.priority,
  Labels: labelTexts(row) || undefined,
  Queue: row.queue_id,
  Run: row.claimed_by_run_id ?? undefined,
  Request: row.pending_human_request_id ?? undefined,
  Postponed: row.postponed_to === null ? undefined : time(row.postponed_to),
  Claimed: row.claimed_at === null ? undefined : time(row.claimed_at),
  Completed: row.completed_at === null ? undefined : time(row.completed_at),
  Created: time(row.created_at),
  Updated: time(row.updated_at),
});
