/** Runs, messages, and human requests, as the interface returns them. */
import type {
  EvaluationSummary,
  HumanQuestion,
  HumanRequest,
  RecordedHumanRequest,
  Run,
  RunListItem,
  RunMessage,
} from '../../interface/types.ts';
import type { EvaluationStatus, HumanRequestRow, MessageRow, RunRow } from '../store/database/schema.ts';
import type { RecordedRequest } from '../store/runs/human-requests.ts';
import type { ListedRun } from '../store/runs/run-list.ts';
import { summaryView } from './evaluations.ts';

/** The columns that every form of a run needs. */
type CommonRow = Pick<RunRow, keyof RunRow & keyof ListedRun>;

/** The fields that every form of a run has. */
export const runFields = (row: CommonRow) => ({
  id: row.id,
  agent_id: row.agent_id,
  build_id: row.build_id,
  status: row.status,
  source: row.source,
  started_at: row.started_at,
  completed_at: row.completed_at,
  created_at: row.created_at,
  updated_at: row.updated_at,
  sandbox_id: row.sandbox_id,
  // The engine lets every run ask people.
  human_in_the_loop_enabled: true,
  error: row.error,
  run_number: row.run_number,
});

export const runView = (row: CommonRow, pending: HumanRequestRow | undefined): Run => ({
  ...runFields(row),
  pending_human_request: pending === undefined ? null : humanRequestView(pending),
});

// Written out, because a list contains many of them, and copying the fields of the other view would take most of the time.
export const runListItem = (row: ListedRun, pending: HumanRequestRow | undefined): RunListItem => ({
  id: row.id,
  agent_id: row.agent_id,
  build_id: row.build_id,
  status: row.status,
  source: row.source,
  started_at: row.started_at,
  completed_at: row.completed_at,
  created_at: row.created_at,
  updated_at: row.updated_at,
  sandbox_id: row.sandbox_id,
  human_in_the_loop_enabled: true,
  error: row.error,
  pending_human_request: pending === undefined ? null : humanRequestView(pending),
  title: row.title,
  run_number: row.run_number,
  agent_name: row.agent_name,
  user_id: null,
  case_queue_item_id: row.case_queue_id === null ? null : row.case_id,
  case_queue_id: row.case_queue_id,
  case_queue_name: row.case_queue_name,
  case_title: row.case_title,
  postponed_to: row.postponed_to,
  submitted_prompt_count: row.submitted_prompt_count,
  eval_summaries: row.eval_status === null ? null : summaryOf(row),
});

/** The evaluation of a listed run that has one: if there is a status, there are figures. */
const summaryOf = (row: ListedRun): EvaluationSummary =>
  summaryView({
    status: row.eval_status as EvaluationStatus,
    passed: row.eval_passed as number,
    total: row.eval_total as number,
    critical: row.eval_critical as number,
    medium: row.eval_medium as number,
    low: row.eval_low as number,
    comment: row.eval_comment,
  });

export const humanRequestView = (row: HumanRequestRow): HumanRequest => ({
  id: row.id,
  title: row.title,
  description: row.description,
  created_at: row.created_at,
  type: row.type,
  ...(row.questions === null ? {} : { questions: JSON.parse(row.questions) as HumanQuestion[] }),
  ...(row.reminded_at === null ? {} : { reminders: row.reminders, reminded_at: row.reminded_at }),
});

/** A human request, as it is returned to whoever has answered it. */
export const answeredRequestView = (row: HumanRequestRow) => ({
  id: row.id,
  run_id: row.run_id,
  title: row.title,
  description: row.description,
  response: row.response,
  responded_at: row.responded_at,
  created_at: row.created_at,
});

/** A human request with what became of it. */
export const recordedRequestView = (row: RecordedRequest): RecordedHumanRequest => ({
  ...humanRequestView(row),
  status: row.status,
  response: row.response,
  responded_at: row.responded_at,
  responded_by: row.responder_id === null ? null : { id: row.responder_id, name: row.responder_name },
});

export const messageView = (row: MessageRow): RunMessage => ({
  id: row.id,
  type: row.type,
  role: row.role,
  timestamp: row.timestamp,
  ...(row.text_content === null ? {} : { text_content: row.text_content }),
  ...(row.tool_call === null ? {} : { tool_call: JSON.parse(row.tool_call) as NonNullable<RunMessage['tool_call']> }),
  ...(row.tool_result === null ? {} : { tool_result: JSON.parse(row.tool_result) as NonNullable<RunMessage['tool_result']> }),
});
