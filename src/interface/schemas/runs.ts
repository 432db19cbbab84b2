import Type, { type Static } from 'typebox';
import type { OperationSchemas } from '../operation.ts';
import type { runOperations } from '../operations/runs.ts';
import { runStatuses, runStatusFilters } from '../run-status.ts';
import { Closed, DateTime, EvaluationSummary, Extended, FreeForm, Named, NamedClosed, Nullable, paging, Uuid, Words } from './common.ts';
import { RunRepository } from './sandboxes.ts';

const RunStatusWord = Words([...runStatuses], { $id: 'RunStatus' });

/** One question of a human request. Without options the answer is free text. */
export const HumanQuestion = Named('HumanQuestion', {
  question: Type.String(),
  header: Type.Optional(Type.String()),
  options: Type.Optional(Type.Array(Type.Object({ label: Type.String(), description: Type.Optional(Type.String()) }))),
  multi_select: Type.Optional(Type.Boolean()),
});
export type HumanQuestion = Static<typeof HumanQuestion>;

/** A request to a person: an approval, or a set of questions. */
export const HumanRequest = Named('HumanRequest', {
  id: Uuid,
  title: Type.String(),
  description: Nullable(Type.String()),
  created_at: DateTime,
  type: Words(['approval', 'question']),
  questions: Type.Optional(Type.Array(HumanQuestion)),
  /** How many reminders there were, and when the last one was; only if there were any. Extensions. */
  reminders: Type.Optional(Type.Integer({ minimum: 1 })),
  reminded_at: Type.Optional(DateTime),
});
export type HumanRequest = Static<typeof HumanRequest>;

/** A human request after it was answered. */
const AnsweredRequest = Named('AnsweredHumanRequest', {
  id: Uuid,
  run_id: Uuid,
  title: Type.String(),
  description: Nullable(Type.String()),
  response: Nullable(Type.String()),
  responded_at: Nullable(DateTime),
  created_at: DateTime,
});

/** A human request of a run with what became of it. An extension. */
export const RecordedHumanRequest = Extended('RecordedHumanRequest', HumanRequest, {
  status: Words(['pending', 'answered', 'withdrawn']),
  /** The answer in words; null unless it was answered. */
  response: Nullable(Type.String()),
  responded_at: Nullable(DateTime),
  /** The credential that answered, if that was recorded; its name is null if the credential does not exist any more. */
  responded_by: Nullable(Type.Object({ id: Uuid, name: Nullable(Type.String()) })),
});
export type RecordedHumanRequest = Static<typeof RecordedHumanRequest>;

const runFields = {
  id: Uuid,
  agent_id: Nullable(Uuid),
  status: RunStatusWord,
  source: Nullable(Type.String()),
  started_at: Nullable(DateTime),
  completed_at: Nullable(DateTime),
  created_at: Nullable(DateTime),
  sandbox_id: Nullable(Type.String()),
  human_in_the_loop_enabled: Type.Boolean(),
};

/** Interface part 2.1. `error` says why a failed run failed. */
export const Run = Named('Run', {
  ...runFields,
  pending_human_request: Nullable(HumanRequest),
  build_id: Type.Optional(Uuid),
  updated_at: Type.Optional(DateTime),
  error: Type.Optional(Nullable(Type.String())),
  /** The number of the run within its team, from 1. An extension: the interface has it only in lists and in the detail. */
  run_number: Type.Optional(Nullable(Type.Integer())),
});
export type Run = Static<typeof Run>;

/** A row of the run list: a run, and further fields for people. */
export const RunListItem = Extended('RunListItem', Run, {
  title: Type.String(),
  run_number: Type.Number(),
  agent_name: Type.String(),
  user_id: Nullable(Uuid),
  case_queue_item_id: Nullable(Uuid),
  case_queue_id: Nullable(Uuid),
  case_queue_name: Nullable(Type.String()),
  case_title: Nullable(Type.String()),
  postponed_to: Nullable(DateTime),
  submitted_prompt_count: Type.Integer({ minimum: 0 }),
  eval_summaries: Type.Optional(Nullable(EvaluationSummary)),
});
export type RunListItem = Static<typeof RunListItem>;

/** A message of a run. Which of the last three fields it has depends on its type. */
export const RunMessage = Named('RunMessage', {
  id: Type.String(),
  type: Type.String(),
  role: Type.String(),
  timestamp: DateTime,
  text_content: Type.Optional(Type.String()),
  tool_call: Type.Optional(Type.Object({ id: Type.String(), name: Type.String(), arguments: Type.Optional(FreeForm) })),
  tool_result: Type.Optional(
    Type.Object({ tool_call_id: Type.String(), result: Type.Optional(Type.Unknown()), error: Type.Optional(Type.String()) }),
  ),
});
export type RunMessage = Static<typeof RunMessage>;

/** The session of a run's agent, as far as the agent reports it. */
const AgentSession = Named('AgentSession', {
  /** Name and version of the agent. */
  name: Type.String(),
  version: Type.String(),
  /** The mode that it works in; null if it has no modes. */
  mode: Nullable(Type.String()),
  /** Whether it asks a person before it acts in that mode, or decides by itself; null if that is unknown. */
  asks: Nullable(Type.Boolean()),
  /** What it has consumed; null if it does not report that. */
  usage: Nullable(
    Type.Object({
      /** Tokens of the context that are in use, and its size. */
      context_tokens: Type.Number(),
      context_size: Type.Number(),
      cost: Nullable(Type.Object({ amount: Type.Number(), currency: Type.String() })),
    }),
  ),
});

/** Interface part 2.2. */
export const RunDetail = Named('RunDetail', {
  ...runFields,
  run_number: Nullable(Type.Integer()),
  submitted_prompt_count: Type.Integer(),
  resume_count: Type.Integer(),
  conversation: Type.Array(FreeForm),
  conversationPagination: Closed({ total: Type.Integer(), included: Type.Integer(), hasMore: Type.Boolean() }),
  integrationInstances: Type.Array(FreeForm),
  handover: Nullable(FreeForm),
  eval_summaries: FreeForm,
  bb_session_id: Nullable(Type.String()),
  computer_session_id: Nullable(Type.String()),
  computer_use_slug: Nullable(Type.String()),
  last_session_id: Nullable(Type.String()),
  /**
   * How far the commands and agents that the run started were confined: the weakest level, if there were several; null if it started
   * none. An extension.
   */
  exec_level: Type.Optional(Nullable(Words(['contained', 'host']))),
  /** The session of the run's agent; null for a run that has not started one. An extension. */
  agent_session: Type.Optional(Nullable(AgentSession)),
});
export type RunDetail = Static<typeof RunDetail>;

/** Interface part 2.4. */
export const WorkflowExecutionReport = NamedClosed('WorkflowExecutionReport', {
  provider: Nullable(Type.String()),
  expectedProgrammatic: Type.Boolean(),
  totalSteps: Type.Integer(),
  executedSteps: Type.Integer(),
  calls: Type.Integer(),
  executions: Type.Integer(),
  handoffs: Type.Integer(),
  errors: Type.Integer(),
  stopReasons: Type.Array(Type.String()),
  reachedCompletion: Type.Boolean(),
  programmaticExecutionRate: Type.Number(),
});
export type WorkflowExecutionReport = Static<typeof WorkflowExecutionReport>;

/** Interface part 2.5. */
export const BrowserSessionPage = NamedClosed('BrowserSessionPage', {
  url: Type.String(),
  title: Nullable(Type.String()),
  screenshot_url: Nullable(Type.String()),
});
export type BrowserSessionPage = Static<typeof BrowserSessionPage>;

/** A file that a run recorded, such as a screenshot, and the URL of its content. */
export const RunFileDownload = Named('RunFileDownload', {
  file_id: Type.String(),
  name: Type.String(),
  mime_type: Nullable(Type.String()),
  size: Type.Integer({ minimum: 0 }),
  created_at: DateTime,
  /** Signed; needs no credential. */
  download_url: Type.String(),
  expires_at: DateTime,
});
export type RunFileDownload = Static<typeof RunFileDownload>;

const RepositorySource = Type.Object(
  {
    path: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4_096,
        description: 'A folder of the machine of the service. Only its owner may specify one.',
      }),
    ),
    url: Type.Optional(Type.String({ minLength: 1, maxLength: 2_048, description: 'An http or https URL.' })),
    ref: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: 'A branch, a tag, or a commit. By default, what is checked out in the folder, or the default branch.',
      }),
    ),
  },
  { description: 'Beyond the interface. The run works on a copy of this repository, on a branch of its own.' },
);

const trueOrFalse = Type.Optional(Words(['true', 'false']));

export const runSchemas = {
  listRuns: {
    query: Type.Object({
      ...paging(100, 20),
      agent_id: Type.Optional(Uuid),
      digest_id: Type.Optional(Uuid),
      status: Type.Optional(Words([...runStatusFilters])),
      since: Type.Optional(DateTime),
      until: Type.Optional(DateTime),
      user_id: Type.Optional(Uuid),
      case_queue_id: Type.Optional(Uuid),
      source: Type.Optional(Type.String()),
      search: Type.Optional(Type.String()),
      count_only: trueOrFalse,
      include_total: trueOrFalse,
      sort_by: Type.Optional(Words(['created_at'], { default: 'created_at' })),
      sort_order: Type.Optional(Words(['asc', 'desc'], { default: 'desc' })),
      has_issues: trueOrFalse,
      issue_severity: Type.Optional(Words(['critical', 'medium', 'low'])),
      /** Only the run with this number; an extension. */
      run_number: Type.Optional(Type.Integer({ minimum: 1 })),
    }),
    response: Closed({ data: Type.Array(RunListItem), total: Type.Integer() }),
  },
  startRun: {
    body: Type.Object({
      agent_id: Uuid,
      message: Type.Optional(Type.String()),
      sandbox_id: Type.Optional(Type.String({ minLength: 1 })),
      repository: Type.Optional(RepositorySource),
      webhook_url: Type.Optional(
        Type.String({
          format: 'uri',
          description:
            'Where the events of this run are sent. A credential that is limited to scopes needs `runs:read` or `webhooks:manage` for it.',
        }),
      ),
    }),
    response: Type.Object({
      run: Run,
      /** The repository, if one was specified; an extension. */
      repository: Type.Optional(RunRepository),
    }),
  },
  getRun: { response: Type.Object({ run: Run, pending_human_request: Nullable(HumanRequest) }) },
  listRunMessages: {
    query: Type.Object(paging(50, 20)),
    response: Type.Object({ messages: Type.Array(RunMessage), total: Type.Integer(), limit: Type.Integer(), offset: Type.Integer() }),
  },
  postRunMessage: {
    body: Type.Object({
      message: Type.String({ minLength: 1 }),
      expected_human_request_id: Type.Optional(
        Type.Union([Uuid, Type.Null()], {
          description:
            'Beyond the interface. The human request that the message may answer, or null if it may answer none. When anything else is pending, the message is refused with 409 and changes nothing. Without it, a message to a waiting run answers whatever is pending.',
        }),
      ),
    }),
    response: Type.Object({
      message: RunMessage,
      /** The human request that the message answered, or null; an extension. */
      human_request: Type.Optional(Nullable(AnsweredRequest)),
    }),
  },
  listRunHumanRequests: {
    query: Type.Object(paging(50, 20)),
    response: Type.Object({
      human_requests: Type.Array(RecordedHumanRequest),
      total: Type.Integer(),
      limit: Type.Integer(),
      offset: Type.Integer(),
    }),
  },
  respondToHumanRequest: {
    body: Type.Object({
      /** Question text to answer; several chosen options joined with commas. */
      answers: Type.Optional(Type.Record(Type.String(), Type.String())),
      approved: Type.Optional(Type.Boolean()),
      /** The reason for approving or denying; an extension. */
      reason: Type.Optional(Type.String({ minLength: 1, maxLength: 2_000 })),
    }),
    response: Type.Object({ human_request: AnsweredRequest }),
  },
  stopRun: { response: Type.Object({ success: Type.Boolean(), message: Type.Optional(Type.String()) }) },
  getRunDetail: { response: RunDetail },
  getWorkflowExecutionReport: { response: WorkflowExecutionReport },
  listBrowserSessionPages: { response: Type.Object({ pages: Type.Array(BrowserSessionPage) }) },
  downloadRunFile: { response: RunFileDownload },
} as const satisfies Record<keyof typeof runOperations, OperationSchemas>;
