import Type, { type Static } from 'typebox';
import { caseDisplayStatuses, casePriorities, caseSortFields, caseStatuses, caseStatusFilters } from '../case-status.ts';
import type { OperationSchemas } from '../operation.ts';
import type { caseOperations } from '../operations/cases.ts';
import { runStatuses } from '../run-status.ts';
import { DateTime, EvaluationSummary, Named, Nullable, paging, Uuid, Words } from './common.ts';
import { RunMessage } from './runs.ts';

const Priority = Words([...casePriorities], { $id: 'CasePriority' });
const Status = Words([...caseStatuses], { $id: 'CaseStatus' });
const Uuids = Type.Array(Uuid);
const Count = Type.Integer({ minimum: 0 });
const Hue = Type.Integer({ minimum: 0, maximum: 360 });

export const Label = Named('Label', { id: Uuid, key: Type.String(), value: Type.String({ minLength: 1 }), color_hue: Hue });
export type Label = Static<typeof Label>;

export const QueueLabel = Named('QueueLabel', { ...Label.properties, case_count: Count });
export type QueueLabel = Static<typeof QueueLabel>;

/** A case. `data` is text, which often contains JSON. */
export const Case = Named('Case', {
  id: Uuid,
  queue_id: Uuid,
  title: Type.String(),
  data: Type.String(),
  status: Status,
  priority: Priority,
  display_status: Words([...caseDisplayStatuses], { $id: 'CaseDisplayStatus' }),
  claimed_at: Nullable(DateTime),
  claimed_by_run_id: Nullable(Type.String()),
  completed_at: Nullable(DateTime),
  postponed_to: Nullable(DateTime),
  created_at: DateTime,
  updated_at: DateTime,
  created_by_user_id: Nullable(Uuid),
  created_by_user_name: Nullable(Type.String()),
  created_by_user_email: Nullable(Type.String()),
  agent_run_status: Nullable(Type.String()),
  agent_run_user_id: Nullable(Uuid),
  pending_human_request_id: Nullable(Uuid),
  pending_approval_batch_id: Nullable(Uuid),
  pending_approval_assignee_user_ids: Uuids,
  approval_approved_count: Count,
  approval_rejected_count: Count,
  eval_summary: Type.Optional(Nullable(EvaluationSummary)),
  search_match_data_snippet: Type.Optional(Type.Object({ before: Type.String(), match: Type.String(), after: Type.String() })),
  labels: Type.Array(Label),
});
export type Case = Static<typeof Case>;

/** Something that happened to a case. */
export const CaseEvent = Named('CaseEvent', {
  id: Uuid,
  case_queue_item_id: Uuid,
  agent_run_id: Nullable(Uuid),
  human_request_id: Nullable(Uuid),
  type: Type.String(),
  reason: Nullable(Type.String()),
  created_at: DateTime,
  agent_id: Nullable(Uuid),
  agent_name: Nullable(Type.String()),
  user_id: Nullable(Uuid),
  user_name: Nullable(Type.String()),
  user_email: Nullable(Type.String()),
  human_request_title: Nullable(Type.String()),
});
export type CaseEvent = Static<typeof CaseEvent>;

const ApprovalBatch = Named('ApprovalBatch', {
  id: Uuid,
  case_queue_item_id: Uuid,
  agent_run_id: Uuid,
  title: Type.String(),
  created_at: DateTime,
  resolved_at: Nullable(DateTime),
  cancelled_at: Nullable(DateTime),
  cancellation_reason: Nullable(Type.String()),
  rows: Type.Array(
    Type.Object({
      id: Uuid,
      assignee_user_id: Uuid,
      assignee_name: Nullable(Type.String()),
      assignee_email: Nullable(Type.String()),
      prompt: Type.String(),
      decision: Nullable(Words(['approved', 'rejected'])),
      responded_at: Nullable(DateTime),
      responded_by_user_id: Nullable(Uuid),
      responded_by_name: Nullable(Type.String()),
      responded_by_email: Nullable(Type.String()),
      cancelled_at: Nullable(DateTime),
      cancellation_reason: Nullable(Type.String()),
    }),
  ),
});

/** A run that worked on a case. */
export const CaseRun = Named('CaseRun', {
  id: Uuid,
  case_queue_item_id: Uuid,
  agent_id: Uuid,
  agent_name: Type.String(),
  status: Words([...runStatuses], { $id: 'RunStatus' }),
  source: Nullable(Type.String()),
  created_at: DateTime,
  started_at: Nullable(DateTime),
  completed_at: Nullable(DateTime),
  claimed_at: DateTime,
  has_pending_human_request: Type.Boolean(),
  pending_human_request_title: Nullable(Type.String()),
  evaluation: EvaluationSummary,
  user_id: Nullable(Uuid),
  user_name: Nullable(Type.String()),
  user_email: Nullable(Type.String()),
  /** The number of the run within its team; an extension. */
  run_number: Type.Optional(Nullable(Type.Integer())),
});
export type CaseRun = Static<typeof CaseRun>;

const GivenLabel = Named('NewLabel', { key: Type.Optional(Type.String()), value: Type.String({ minLength: 1 }) });

const NewCase = Named('NewCase', {
  title: Type.String({ minLength: 1, maxLength: 500 }),
  data: Type.Optional(Type.String()),
  labels: Type.Optional(Type.Array(GivenLabel)),
  priority: Type.Optional(Priority),
});
export type NewCase = Static<typeof NewCase>;

export const CaseFilters = Named('CaseFilters', {
  status: Type.Optional(Type.Array(Words([...caseStatusFilters], { $id: 'CaseStatusFilter' }))),
  priority: Type.Optional(Type.Array(Priority)),
  created_at_from: Type.Optional(DateTime),
  updated_at_from: Type.Optional(DateTime),
  /** Maps a key to one value, or to several of which a case has one. Labels without a key use the empty key. */
  labels: Type.Optional(Type.Record(Type.String(), Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1 })]))),
});
export type CaseFilters = Static<typeof CaseFilters>;

const CaseIds = Type.Array(Uuid, { minItems: 1, maxItems: 100 });

/** The cases of a bulk action: by ID, or all that match. */
const selection = {
  case_ids: Type.Optional(CaseIds),
  all_matching: Type.Optional(Type.Boolean()),
  filters: Type.Optional(CaseFilters),
  search: Type.Optional(Type.String()),
};

const CasePage = Named('CasePage', { cases: Type.Array(Case), total: Type.Integer(), limit: Type.Integer(), offset: Type.Integer() });
const Sorting = {
  sort_by: Type.Optional(Words([...caseSortFields], { default: 'created_at' })),
  sort_order: Type.Optional(Words(['asc', 'desc'], { default: 'desc' })),
};
const Redirect = Named('Redirect', { message: Type.String(), location: Type.String() });
const Success = Type.Object({ success: Type.Boolean() });
const LabelFields = Named('LabelFields', {
  key: Type.Optional(Type.String()),
  value: Type.String({ minLength: 1 }),
  color_hue: Type.Optional(Hue),
});

export const caseSchemas = {
  listCases: {
    query: Type.Object({
      ...paging(100, 20),
      /** One filter, or several separated by commas. */
      status: Type.Optional(Type.String()),
      priority: Type.Optional(Type.String()),
      search: Type.Optional(Type.String()),
      created_at_from: Type.Optional(DateTime),
      updated_at_from: Type.Optional(DateTime),
      ...Sorting,
    }),
    response: CasePage,
  },
  createCases: {
    body: Type.Object({
      case: Type.Optional(NewCase),
      cases: Type.Optional(Type.Array(NewCase, { minItems: 1, maxItems: 100 })),
    }),
    response: Type.Object({ added_cases: Type.Array(Case) }),
  },
  clearQueueCases: {
    response: Type.Object({ success: Type.Boolean(), deletedCount: Count, interruptedRunIds: Uuids }),
  },
  searchCases: {
    body: Type.Object({
      filters: Type.Optional(CaseFilters),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 25 })),
      offset: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 })),
      ...Sorting,
      search: Type.Optional(Type.String()),
    }),
    optionalBody: true,
    response: CasePage,
  },
  getCase: {
    response: Type.Object({ case: Case, events: Type.Array(CaseEvent), approvalBatches: Type.Array(ApprovalBatch) }),
  },
  deleteCase: { response: Type.Object({ success: Type.Boolean(), interruptedRunIds: Uuids }) },
  listCaseRuns: { response: Type.Object({ runs: Type.Array(CaseRun) }) },
  listCaseRunRecentMessages: {
    query: Type.Object({ limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10, default: 5 })) }),
    response: Type.Object({ messages: Type.Array(RunMessage) }),
  },
  bulkDeleteCases: { body: Type.Object(selection), response: Type.Object({ deletedCount: Count, interruptedRunIds: Uuids }) },
  bulkReprocessCases: {
    body: Type.Object({ ...selection, agent_id: Type.Optional(Uuid) }),
    response: Type.Object({
      reprocessedCount: Count,
      skippedCount: Count,
      delegatedCount: Type.Optional(Count),
      retriedCount: Type.Optional(Count),
    }),
  },
  bulkUpdateCasePriority: {
    body: Type.Object({ ...selection, priority: Priority }),
    response: Type.Object({ updatedCount: Count, skippedCount: Count }),
  },
  bulkUpdateCaseStatus: {
    body: Type.Object({ ...selection, status: Status }),
    response: Type.Object({ updatedCount: Count, skippedCount: Count, interruptedRunIds: Uuids }),
  },
  bulkDelegateCases: { body: Type.Object({ case_ids: CaseIds, agent_id: Uuid }), response: Redirect },
  bulkRetryCases: { body: Type.Object({ case_ids: CaseIds }), response: Redirect },
  listQueueLabels: { query: Type.Object(paging(1_000, 1_000)), response: Type.Object({ labels: Type.Array(QueueLabel) }) },
  createQueueLabel: { body: LabelFields, response: Type.Object({ label: QueueLabel }) },
  updateQueueLabel: { body: LabelFields, response: Type.Object({ label: Label }) },
  deleteQueueLabel: { response: Success },
  listCaseLabels: { query: Type.Object(paging(1_000, 1_000)), response: Type.Object({ labels: Type.Array(Label) }) },
  assignCaseLabels: {
    body: Type.Object({ labels: Type.Array(GivenLabel, { minItems: 1, maxItems: 50 }) }),
    response: Type.Object({ labels: Type.Array(Label) }),
  },
  unlinkCaseLabels: { body: Type.Object({ label_ids: Type.Array(Uuid, { minItems: 1 }) }), response: Success },
} as const satisfies Record<keyof typeof caseOperations, OperationSchemas>;
