/** Queues, cases, labels, and events of cases, as the interface returns them. */
import { casePriorities } from '../../interface/case-status.ts';
import type { Case, CaseEvent, CasePriority, CaseRun, CaseStatusFilter, Label, Queue, RunStatus } from '../../interface/types.ts';
import { evaluationsOf, type ListedEvaluation } from '../store/agents/evaluations.ts';
import type { ListedCaseEvent } from '../store/cases/case-events.ts';
import { statusOf } from '../store/cases/case-list.ts';
import { inChunks } from '../store/cases/cases.ts';
import { labelsOf } from '../store/cases/labels.ts';
import type { Queries } from '../store/database/database.ts';
import type { CaseRow, HumanRequestRow, QueueLabelRow, QueueRow, RunRow } from '../store/database/schema.ts';
import { pendingRequests } from '../store/runs/human-requests.ts';
import { evaluationView } from './evaluations.ts';

export const queueView = (row: QueueRow): Queue => ({
  id: row.id,
  name: row.name,
  description: row.description,
  folder_id: row.folder_id,
  automation_id: row.automation_id,
  team_id: row.team_id,
  created_at: row.created_at,
  // Approvals are requests of single runs; there are no batches of them.
  has_approvals: false,
});

export const labelView = ({ id, key, value, color_hue }: QueueLabelRow): Label => ({ id, key, value, color_hue });

const displayStatuses: Record<CaseStatusFilter, Case['display_status']> = {
  pending: 'pending',
  claimed: 'in_progress',
  needs_input: 'needs_input',
  postponed: 'postponed',
  completed: 'completed',
  failed: 'failed',
};

/** Cases with their labels and the status of the runs that have claimed them. */
export async function caseViews(db: Queries, rows: readonly CaseRow[], now: string, search?: string): Promise<Case[]> {
  const labels = await labelsOf(
    db,
    rows.map(({ id }) => id),
  );
  const runIds = rows.flatMap(({ claimed_by_run_id: id }) => id ?? []);
  const runs = new Map<string, RunStatus>();
  for (const chunk of inChunks(runIds)) {
    for (const run of await db.selectFrom('runs').select(['id', 'status']).where('id', 'in', chunk).execute()) runs.set(run.id, run.status);
  }
  const requests = await pendingRequests(
    db,
    runIds.filter((id) => runs.get(id) === 'waiting'),
  );
  const evaluations = new Map<string, ListedEvaluation>();
  for (const chunk of inChunks(runIds)) for (const [id, evaluation] of await evaluationsOf(db, chunk)) evaluations.set(id, evaluation);
  return rows.map((row) => {
    const runStatus = row.claimed_by_run_id === null ? undefined : runs.get(row.claimed_by_run_id);
    const request = row.status === 'pending' ? requests.get(row.claimed_by_run_id ?? '') : undefined;
    const snippet = search === undefined ? undefined : matchIn(row.data, search);
    return {
      id: row.id,
      queue_id: row.queue_id,
      title: row.title,
      data: row.data,
      status: row.status,
      priority: priorityWord(row.priority),
      display_status: displayStatuses[statusOf(row, runStatus, now)],
      claimed_at: row.claimed_at,
      claimed_by_run_id: row.claimed_by_run_id,
      completed_at: row.completed_at,
      postponed_to: row.postponed_to,
      created_at: row.created_at,
      updated_at: row.updated_at,
      ...noUser('created_by_user'),
      agent_run_status: runStatus ?? null,
      agent_run_user_id: null,
      pending_human_request_id: request?.id ?? null,
      pending_approval_batch_id: null,
      pending_approval_assignee_user_ids: [],
      approval_approved_count: 0,
      approval_rejected_count: 0,
      eval_summary: evaluationView(evaluations.get(row.claimed_by_run_id ?? '')),
      ...(snippet === undefined ? {} : { search_match_data_snippet: snippet }),
      labels: (labels.get(row.id) ?? []).map(labelView),
    };
  });
}

/** Callers are credentials, not users. */
const noUser = <Name extends string>(name: Name) =>
  ({ [`${name}_id`]: null, [`${name}_name`]: null, [`${name}_email`]: null }) as Record<`${Name}_${'id' | 'name' | 'email'}`, null>;

export const priorityWord = (rank: number): CasePriority => casePriorities[rank] ?? 'none';
export const priorityRank = (word: CasePriority): number => casePriorities.indexOf(word);

/** Characters shown on each side of a match. */
const besideMatch = 40;

/** The part of the data around the text; undefined if the data does not contain it. */
function matchIn(data: string, search: string): Case['search_match_data_snippet'] {
  const searchText = search.trim();
  if (searchText === '') return undefined;
  const match = new RegExp(searchText.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'iu').exec(data);
  if (match === null) return undefined;
  const end = match.index + match[0].length;
  return {
    before: withoutHalves(data.slice(Math.max(0, match.index - besideMatch), match.index)),
    match: match[0],
    after: withoutHalves(data.slice(end, end + besideMatch)),
  };
}

/** Cutting through a character outside the basic plane leaves half a surrogate pair, which many JSON parsers reject. */
const withoutHalves = (text: string): string => text.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '');

export const caseEventView = (row: ListedCaseEvent): CaseEvent => ({
  id: row.id,
  case_queue_item_id: row.case_id,
  agent_run_id: row.run_id,
  human_request_id: row.human_request_id,
  type: row.type,
  reason: row.reason,
  created_at: row.created_at,
  agent_id: row.agent_id,
  agent_name: row.agent_name,
  ...noUser('user'),
  human_request_title: row.human_request_title,
});

/** A run of a case. A run is created when it claims its case, so both have the same time. */
export const caseRunView = (
  row: RunRow & { agent_name: string },
  request: HumanRequestRow | undefined,
  evaluation: ListedEvaluation | undefined,
): CaseRun => ({
  id: row.id,
  case_queue_item_id: row.case_id as string,
  agent_id: row.agent_id,
  agent_name: row.agent_name,
  status: row.status,
  source: row.source,
  created_at: row.created_at,
  started_at: row.started_at,
  completed_at: row.completed_at,
  claimed_at: row.created_at,
  has_pending_human_request: request !== undefined,
  pending_human_request_title: request?.title ?? null,
  // A run that has not ended has no evaluation.
  evaluation: evaluationView(evaluation) ?? { passed: 0, total: 0, status: 'unavailable' },
  ...noUser('user'),
  run_number: row.run_number,
});
