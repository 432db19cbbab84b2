/**
 * The tables, as types. Column types are those that SQLite and Postgres share: instants that the interface shows are ISO 8601
 * text, instants that are only compared are integer milliseconds since the epoch, JSON is text, yes and no are 1 and 0.
 */
import type { ColumnType, Generated, Insertable, Selectable } from 'kysely';
import type {
  ArtifactStatus,
  ArtifactVisibility,
  BuilderRunStatus,
  CaseStatus,
  DeliveryStatus,
  PublishPermission,
  RefreshFrequency,
  RunStatus,
  WebhookEventKind,
} from '../../interface/types.ts';

/** 0 or 1: a boolean bound to libsql ends the process, and Postgres and SQLite disagree on the type. */
export type Flag = 0 | 1;

/** A column that never changes once it is written. */
type Fixed<T> = ColumnType<T, T, never>;

export interface SettingsTable {
  name: Fixed<string>;
  value: string;
}

export interface TeamsTable {
  id: Fixed<string>;
  name: string;
  created_at: Fixed<string>;
  deleted_at: string | null;
  /** The highest number of a run that was removed; it is not given again. */
  last_removed_run: Generated<number>;
}

/** Who calls: a key or an OAuth client. Rate limits and idempotency keys belong to it, whatever token it presents. */
export interface CredentialsTable {
  id: Fixed<string>;
  team_id: Fixed<string>;
  kind: Fixed<CredentialKind>;
  name: string;
  created_at: Fixed<string>;
  revoked_at: string | null;
  /** Words separated by spaces, as OAuth writes them; null has full access. */
  scopes: Fixed<string | null>;
  /** SHA-256 of the secret of an OAuth client. */
  secret_hash: Fixed<string | null>;
  /** Milliseconds; null never expires. */
  expires_at: Fixed<number | null>;
}

/** `local` is the owner of the data directory, `api_key` has one token for life, `oauth_client` fetches short ones. */
export type CredentialKind = 'local' | 'api_key' | 'oauth_client';

/** Bearer tokens, by their SHA-256; the tokens themselves are never stored here. */
export interface TokensTable {
  hash: Fixed<string>;
  credential_id: Fixed<string>;
  created_at: Fixed<string>;
  /** Milliseconds; null lives as long as its credential. */
  expires_at: Fixed<number | null>;
  /** What the token was narrowed to when it was fetched; null allows what its credential does. */
  scopes: Fixed<string | null>;
}

export interface AgentsTable {
  id: Fixed<string>;
  team_id: Fixed<string>;
  name: string;
  /** Lower-cased by JavaScript, which knows more letters than SQLite. */
  name_folded: string;
  slack_enabled: Flag | null;
  microsoft_teams_enabled: Flag | null;
  agentic_memory_enabled: Flag | null;
  thread_id: string | null;
  automation_id: string | null;
  live_build_id: string | null;
  pinned_at: string | null;
  created_at: Fixed<string>;
  updated_at: string;
  deleted_at: string | null;
}

/** Revisions of agents. */
export interface BuildsTable {
  id: Fixed<string>;
  agent_id: Fixed<string>;
  revision_number: Fixed<number>;
  name: string;
  revision_name: string | null;
  revision_description: string | null;
  /** JSON of the RevisionConfig. */
  config: string | null;
  /** JSON array of agent ids. */
  handover_target_ids: string | null;
  parent_build_id: string | null;
  promoted_at: string | null;
  created_at: Fixed<string>;
  updated_at: string;
}

/** Procedure texts by their hash: a run keeps the text it was started with when its revision is edited. */
export interface ProceduresTable {
  hash: Fixed<string>;
  text: Fixed<string>;
}

export interface SandboxesTable {
  id: Fixed<string>;
  team_id: Fixed<string>;
  created_at: Fixed<string>;
  /** When it is removed unless a run has taken it; null once one has. */
  expires_at: string | null;
  removed_at: string | null;
}

export interface RunsTable {
  id: Fixed<string>;
  team_id: Fixed<string>;
  agent_id: Fixed<string>;
  build_id: Fixed<string>;
  run_number: Fixed<number>;
  title: string;
  title_folded: string;
  status: RunStatus;
  source: Fixed<string>;
  sandbox_id: Fixed<string>;
  runtime: Fixed<string>;
  procedure_hash: Fixed<string>;
  /** 1 for the run as started; a message to a completed run begins the next one. */
  turn: number;
  submitted_prompt_count: number;
  resume_count: number;
  error: string | null;
  webhook_url: Fixed<string | null>;
  /** The case it was started for, which may be gone. */
  case_id: Fixed<string | null>;
  created_at: Fixed<string>;
  updated_at: string;
  started_at: string | null;
  completed_at: string | null;
}

/** Runs that were removed: which of a month (the start of the billing period they were started in) had which status in the end. */
export interface RemovedRunsTable {
  team_id: Fixed<string>;
  period: Fixed<string>;
  status: Fixed<RunStatus>;
  runs: number;
}

/** How many runs there are of each kind (store/run-totals.ts). */
export interface RunTotalsTable {
  team_id: Fixed<string>;
  agent_id: Fixed<string>;
  status: Fixed<RunStatus>;
  source: Fixed<string>;
  runs: number;
}

export interface MessagesTable {
  run_id: Fixed<string>;
  /** 1, 2, 3 ... without gaps. */
  seq: Fixed<number>;
  id: Fixed<string>;
  turn: Fixed<number>;
  /** Id that the runtime gave the event; null for what people wrote. */
  event_id: Fixed<string | null>;
  type: Fixed<string>;
  role: Fixed<string>;
  text_content: Fixed<string | null>;
  tool_call: Fixed<string | null>;
  tool_result: Fixed<string | null>;
  timestamp: Fixed<string>;
}

/** Completed steps of a turn. */
export interface JournalTable {
  run_id: Fixed<string>;
  turn: Fixed<number>;
  step: Fixed<string>;
  result: Fixed<string>;
  created_at: Fixed<string>;
}

export interface HumanRequestsTable {
  id: Fixed<string>;
  run_id: Fixed<string>;
  turn: Fixed<number>;
  /** Journal key of the step that asked. */
  step: Fixed<string>;
  type: Fixed<'approval' | 'question'>;
  title: Fixed<string>;
  description: Fixed<string | null>;
  questions: Fixed<string | null>;
  status: 'pending' | 'answered' | 'withdrawn';
  /** JSON of the HumanAnswer. */
  answer: string | null;
  response: string | null;
  responded_at: string | null;
  created_at: Fixed<string>;
}

/** Files that a run recorded; the bytes are in the data directory. */
export interface RunFilesTable {
  id: Fixed<string>;
  run_id: Fixed<string>;
  turn: Fixed<number>;
  event_id: Fixed<string>;
  name: Fixed<string>;
  mime_type: Fixed<string>;
  size: Fixed<number>;
  sha256: Fixed<string>;
  created_at: Fixed<string>;
}

/** Tool calls that pictures were taken of. */
export interface ToolExecutionsTable {
  id: Fixed<string>;
  run_id: Fixed<string>;
  turn: Fixed<number>;
  event_id: Fixed<string>;
  /** 1, 2, 3 ... within the run. */
  seq: Fixed<number>;
  tool_name: Fixed<string>;
  action: Fixed<string | null>;
  /** JSON of what it was given, with `url` and `title` of the page. */
  input: Fixed<string | null>;
  error: Fixed<string | null>;
  started_at: Fixed<string>;
  ended_at: Fixed<string>;
  before_file_id: Fixed<string | null>;
  after_file_id: Fixed<string | null>;
}

/** Builder runs: each proposes a change to a revision. */
export interface BuilderRunsTable {
  id: Fixed<string>;
  agent_id: Fixed<string>;
  build_id: Fixed<string>;
  /** 1, 2, 3 ... within the revision. */
  number: Fixed<number>;
  status: BuilderRunStatus;
  mode: Fixed<string>;
  prompt: Fixed<string>;
  runtime: Fixed<string>;
  phase: string | null;
  /** JSON of the RevisionConfig that it began with, and of the one it proposes. */
  base_config: Fixed<string | null>;
  proposed_config: string | null;
  /** JSON of the HumanRequest that is pending. */
  questions: string | null;
  /** JSON object: question text to answer. */
  answers: string;
  /** JSON arrays: sentences, and SetupChange objects. */
  changes: string | null;
  setup_changes: string | null;
  schedule_suggested: Flag;
  error: string | null;
  resolution: 'accepted' | 'declined' | 'discarded' | null;
  created_at: Fixed<string>;
  updated_at: string;
  started_at: string | null;
  completed_at: string | null;
}

/** When runs of an agent are started. */
export interface SchedulesTable {
  id: Fixed<string>;
  agent_id: Fixed<string>;
  /** The live revision when it was made, or else the newest. */
  build_id: Fixed<string>;
  /** Who made it. */
  credential_id: Fixed<string>;
  enabled: Flag;
  frequency: string;
  time: string | null;
  timezone: string;
  day: string | null;
  day_of_month: number | null;
  cron: string | null;
  source: Fixed<string | null>;
  task: string | null;
  /** 0 fires once. */
  recurring: Flag | null;
  /** Milliseconds; null when it does not fire any more. */
  next_at: number | null;
  last_run_at: string | null;
  last_run_id: string | null;
  last_error: string | null;
  /** Times in a row that no run could be started. */
  failures: number;
  auto_disabled_at: string | null;
  auto_disabled_reason: string | null;
  created_at: Fixed<string>;
  updated_at: string;
}

/** What agents remember from run to run. */
export interface MemoryFilesTable {
  agent_id: Fixed<string>;
  path: Fixed<string>;
  content: string;
  /** Bytes. */
  size: number;
  /** 1, 2, 3 ... with every change. */
  generation: number;
  source_type: 'job' | 'user';
  source_run_id: string | null;
  source_user_id: string | null;
  created_at: Fixed<string>;
  updated_at: string;
}

/** What runs of an agent are judged by. */
export interface RubricsTable {
  id: Fixed<string>;
  agent_id: Fixed<string>;
  /** The revision that it is for; empty for all. */
  build_id: Fixed<string>;
  slug: Fixed<string>;
  title: string;
  description: string;
  sort_order: number;
  created_at: Fixed<string>;
  updated_at: string;
  deleted_at: string | null;
}

/** What came of judging a run that has ended. */
export interface EvaluationsTable {
  run_id: Fixed<string>;
  status: EvaluationStatus;
  passed: number;
  total: number;
  /** Failed rubrics of each severity. */
  critical: number;
  medium: number;
  low: number;
  /** Their sum. */
  issues: number;
  comment: string | null;
  /** JSON array of what each rubric gave. */
  results: string;
  created_at: Fixed<string>;
  updated_at: string;
}

export type EvaluationStatus = 'ready' | 'unavailable' | 'in_progress';

/** Everything that is to be done later or elsewhere than in a request. */
export interface JobsTable {
  id: Fixed<string>;
  kind: Fixed<string>;
  /** What it works on; at most one job of a kind for each subject. */
  subject_id: Fixed<string>;
  status: JobStatus;
  /** Milliseconds: start time, retry time and, while running, end of the lease. */
  due_at: number;
  owner: string | null;
  /** Grows with every claim and every revocation; whoever holds an older one may not write. */
  epoch: Generated<number>;
  attempts: Generated<number>;
  payload: string | null;
  /** Jobs of one kind and lane share a limit: the team of a run. Null has none. */
  lane: Fixed<string | null>;
}

/** `parked` waits for something other than time. */
export type JobStatus = 'queued' | 'running' | 'parked' | 'done';

/** What a team may use; a team without a row has the default plan (plans/plan.ts). */
export interface PlansTable {
  team_id: Fixed<string>;
  name: string;
  /** Limits; null is none. */
  agent_runs: number | null;
  assignments: number | null;
  clarity_interviews: number | null;
  max_concurrent_runs: number;
  run_counting_mode: string;
  /** JSON arrays of words; null for those of the service. */
  features: string | null;
  products: string | null;
  updated_at: string;
}

export interface IdempotencyKeysTable {
  credential_id: Fixed<string>;
  key: Fixed<string>;
  fingerprint: Fixed<string>;
  /** Null while the first request is still being handled. */
  status: number | null;
  content_type: string | null;
  location: string | null;
  body: string | null;
  request_id: Fixed<string>;
  /** Process that handles it, and the milliseconds until which its silence is not taken for its death. */
  owner: Fixed<string>;
  lease_until: number;
  expires_at: Fixed<number>;
  /** Length of the body. */
  size: Generated<number>;
}

/** What webhooks of a team are signed with. The current secret has no end; the one before it signs too until it expires. */
export interface WebhookSecretsTable {
  id: Fixed<string>;
  team_id: Fixed<string>;
  /** `whsec_` and base64: it signs, so it cannot be kept as a hash. */
  secret: Fixed<string>;
  created_at: Fixed<string>;
  /** Milliseconds; null for the current one. */
  expires_at: number | null;
}

export interface WebhookSubscriptionsTable {
  id: Fixed<string>;
  team_id: Fixed<string>;
  url: string;
  /** JSON array of event kinds, or of `*`. */
  events: string;
  description: string | null;
  enabled: Flag;
  disabled_reason: string | null;
  disabled_at: string | null;
  /** Attempts that have failed since the last success, and when the first of them did (milliseconds). */
  failures: number;
  failing_since: number | null;
  /** Milliseconds until which the receiver asked to be left alone. */
  held_until: number | null;
  last_delivered_at: string | null;
  created_at: Fixed<string>;
  updated_at: string;
  deleted_at: string | null;
}

/** The outbox: what somebody is to be told, written in the transaction of the change that it tells of. */
export interface EventsTable {
  /** The `webhook-id` of every delivery. */
  id: Fixed<string>;
  team_id: Fixed<string>;
  kind: Fixed<WebhookEventKind>;
  run_id: Fixed<string | null>;
  /** The body of every delivery, as it is sent. */
  payload: Fixed<string>;
  created_at: Fixed<string>;
}

/** An event on its way to one URL. */
export interface DeliveriesTable {
  id: Fixed<string>;
  /** 1, 2, 3 ... in each team: the order of the list. */
  seq: Fixed<number>;
  team_id: Fixed<string>;
  event_id: Fixed<string>;
  kind: Fixed<WebhookEventKind>;
  run_id: Fixed<string | null>;
  /** Null for the `webhook_url` of a run. */
  subscription_id: Fixed<string | null>;
  /** The subscription, or a URL of runs. What goes to one endpoint is delivered by one worker at a time. */
  endpoint: Fixed<string>;
  url: string;
  status: DeliveryStatus;
  /** Attempts of this round of the schedule; a resend begins a new one. */
  tries: number;
  attempt_count: number;
  /** Milliseconds; null unless pending. */
  next_attempt_at: number | null;
  last_status_code: number | null;
  last_error: string | null;
  created_at: Fixed<string>;
  completed_at: string | null;
}

export interface DeliveryAttemptsTable {
  delivery_id: Fixed<string>;
  number: Fixed<number>;
  started_at: Fixed<string>;
  duration_ms: Fixed<number>;
  status_code: Fixed<number | null>;
  error: Fixed<string | null>;
  response_body: Fixed<string | null>;
}

export interface QueuesTable {
  id: Fixed<string>;
  team_id: Fixed<string>;
  name: string;
  description: string | null;
  folder_id: string | null;
  automation_id: Fixed<string | null>;
  created_at: Fixed<string>;
  updated_at: string;
}

/**
 * Work for agents. A pending case is claimed by a run, postponed, or waits. One that is done keeps the run that did it.
 */
export interface CasesTable {
  id: Fixed<string>;
  queue_id: Fixed<string>;
  /** Grows within the queue: the order of cases of the same moment. */
  number: Fixed<number>;
  title: Fixed<string>;
  data: Fixed<string>;
  /** Title and data, lower-cased by JavaScript. */
  search_text: Fixed<string>;
  status: CaseStatus;
  /** Position in casePriorities. */
  priority: number;
  /** The agent that alone may take it; null for those of the queue. */
  delegated_agent_id: string | null;
  claimed_at: string | null;
  claimed_by_run_id: string | null;
  completed_at: string | null;
  postponed_to: string | null;
  created_at: Fixed<string>;
  updated_at: string;
}

/** What happened to a case, in order. */
export interface CaseEventsTable {
  id: Fixed<string>;
  case_id: Fixed<string>;
  seq: Fixed<number>;
  type: Fixed<string>;
  reason: Fixed<string | null>;
  run_id: Fixed<string | null>;
  human_request_id: Fixed<string | null>;
  agent_id: Fixed<string | null>;
  created_at: Fixed<string>;
}

export interface QueueLabelsTable {
  id: Fixed<string>;
  queue_id: Fixed<string>;
  /** Empty for a label without one. */
  key: string;
  value: string;
  color_hue: number;
  created_at: Fixed<string>;
}

export interface CaseLabelsTable {
  case_id: Fixed<string>;
  label_id: Fixed<string>;
}

/** Has an agent work on the cases of a queue. An agent has one at the most. */
export interface CaseTriggersTable {
  id: Fixed<string>;
  agent_id: Fixed<string>;
  queue_id: string;
  /** Who made it. */
  credential_id: Fixed<string>;
  enabled: Flag;
  /** Cases at a time; null for what the plan allows. */
  concurrency: number | null;
  created_at: Fixed<string>;
  updated_at: string;
}

/** A remote MCP server that runs may use. */
export interface ConnectionsTable {
  id: Fixed<string>;
  team_id: Fixed<string>;
  name: string;
  type: Fixed<string>;
  provider: Fixed<string>;
  server_url: string;
  auth_method: ConnectionAuth;
  shared: Flag;
  /** JSON: what goes with each request and is no secret, by name. */
  headers: string;
  /** The same for secret ones, sealed. */
  secret_headers: string | null;
  /** Client, tokens and where they came from, as JSON, sealed. */
  oauth: string | null;
  /** JSON. */
  oauth_scopes: string | null;
  /** Counts the changes to what it is reached with: what was found out about an earlier one says nothing of this one. */
  revision: number;
  broken_at: string | null;
  broken_reason: string | null;
  created_at: Fixed<string>;
  updated_at: string;
  deleted_at: string | null;
}

export type ConnectionAuth = 'url' | 'apikey' | 'headers' | 'oauth';

/** An authorization that a person was sent to give. */
export interface OAuthFlowsTable {
  /** SHA-256 of the `state`. */
  state_hash: Fixed<string>;
  team_id: Fixed<string>;
  /** The connection that is authorized again; null when it is to be made. */
  connection_id: Fixed<string | null>;
  name: Fixed<string>;
  type: Fixed<string>;
  server_url: Fixed<string>;
  return_url: Fixed<string | null>;
  /** Client, verifier and the server's metadata, as JSON, sealed. */
  details: Fixed<string>;
  /** Milliseconds. */
  expires_at: Fixed<number>;
}

/** A connection that a run has used. */
export interface RunConnectionsTable {
  run_id: Fixed<string>;
  connection_id: Fixed<string>;
  /** What it was called then. */
  name: Fixed<string>;
  first_used_at: Fixed<string>;
}

/** Pages that are made from messages, and remade. */
export interface ArtifactsTable {
  id: Fixed<string>;
  team_id: Fixed<string>;
  /** The credential that created it. */
  created_by: Fixed<string>;
  title: string | null;
  status: ArtifactStatus;
  visibility: ArtifactVisibility;
  publish_permission: PublishPermission;
  current_revision_id: string | null;
  /** JSON of the generation that is to be carried out, or is (engine/artifacts/generation.ts). */
  generation: string | null;
  /** JSON of the question that it waits for. */
  question: string | null;
  refresh_frequency: RefreshFrequency | null;
  last_refresh_at: string | null;
  next_refresh_at: string | null;
  created_at: Fixed<string>;
  updated_at: string;
}

export interface ArtifactRevisionsTable {
  id: Fixed<string>;
  artifact_id: Fixed<string>;
  /** 1, 2, 3 ... within the artifact. */
  version: Fixed<number>;
  parent_revision_id: Fixed<string | null>;
  restored_from_version: Fixed<number | null>;
  /** JSON: what the page is to show (artifacts/page.ts), and what that was when it was made. */
  spec: Fixed<string>;
  content: Fixed<string>;
  created_at: Fixed<string>;
}

export interface ArtifactMessagesTable {
  id: Fixed<string>;
  artifact_id: Fixed<string>;
  /** 1, 2, 3 ... within the artifact. */
  seq: Fixed<number>;
  author_user_id: Fixed<string | null>;
  role: Fixed<'user' | 'assistant'>;
  content: Fixed<string>;
  /** JSON of what it is beside text. */
  message: Fixed<string | null>;
  revision_id: Fixed<string | null>;
  selected_element: Fixed<string | null>;
  created_at: Fixed<string>;
}

/** Connections that are attached to artifacts. */
export interface ArtifactConnectionsTable {
  artifact_id: Fixed<string>;
  connection_id: Fixed<string>;
  created_at: Fixed<string>;
}

export interface Database {
  run_totals: RunTotalsTable;
  removed_runs: RemovedRunsTable;
  settings: SettingsTable;
  teams: TeamsTable;
  credentials: CredentialsTable;
  tokens: TokensTable;
  agents: AgentsTable;
  builds: BuildsTable;
  procedures: ProceduresTable;
  sandboxes: SandboxesTable;
  runs: RunsTable;
  messages: MessagesTable;
  journal: JournalTable;
  human_requests: HumanRequestsTable;
  run_files: RunFilesTable;
  tool_executions: ToolExecutionsTable;
  builder_runs: BuilderRunsTable;
  schedules: SchedulesTable;
  memory_files: MemoryFilesTable;
  rubrics: RubricsTable;
  evaluations: EvaluationsTable;
  jobs: JobsTable;
  idempotency_keys: IdempotencyKeysTable;
  artifacts: ArtifactsTable;
  artifact_revisions: ArtifactRevisionsTable;
  artifact_messages: ArtifactMessagesTable;
  artifact_connections: ArtifactConnectionsTable;
  plans: PlansTable;
  webhook_secrets: WebhookSecretsTable;
  webhook_subscriptions: WebhookSubscriptionsTable;
  events: EventsTable;
  deliveries: DeliveriesTable;
  delivery_attempts: DeliveryAttemptsTable;
  queues: QueuesTable;
  cases: CasesTable;
  case_events: CaseEventsTable;
  queue_labels: QueueLabelsTable;
  case_labels: CaseLabelsTable;
  case_triggers: CaseTriggersTable;
  connections: ConnectionsTable;
  oauth_flows: OAuthFlowsTable;
  run_connections: RunConnectionsTable;
}

export type TeamRow = Selectable<TeamsTable>;
export type CredentialRow = Selectable<CredentialsTable>;
export type TokenRow = Selectable<TokensTable>;
export type AgentRow = Selectable<AgentsTable>;
export type BuildRow = Selectable<BuildsTable>;
export type SandboxRow = Selectable<SandboxesTable>;
export type RunRow = Selectable<RunsTable>;
export type MessageRow = Selectable<MessagesTable>;
export type NewMessage = Omit<Insertable<MessagesTable>, 'seq'>;
export type HumanRequestRow = Selectable<HumanRequestsTable>;
export type RunFileRow = Selectable<RunFilesTable>;
export type ToolExecutionRow = Selectable<ToolExecutionsTable>;
export type BuilderRunRow = Selectable<BuilderRunsTable>;
export type ScheduleRow = Selectable<SchedulesTable>;
export type MemoryFileRow = Selectable<MemoryFilesTable>;
export type RubricRow = Selectable<RubricsTable>;
export type EvaluationRow = Selectable<EvaluationsTable>;
export type JobRow = Selectable<JobsTable>;
export type ArtifactRow = Selectable<ArtifactsTable>;
export type ArtifactRevisionRow = Selectable<ArtifactRevisionsTable>;
export type ArtifactMessageRow = Selectable<ArtifactMessagesTable>;
export type PlanRow = Selectable<PlansTable>;
export type WebhookSecretRow = Selectable<WebhookSecretsTable>;
export type WebhookRow = Selectable<WebhookSubscriptionsTable>;
export type EventRow = Selectable<EventsTable>;
export type DeliveryRow = Selectable<DeliveriesTable>;
export type AttemptRow = Selectable<DeliveryAttemptsTable>;
export type QueueRow = Selectable<QueuesTable>;
export type CaseRow = Selectable<CasesTable>;
export type CaseEventRow = Selectable<CaseEventsTable>;
export type QueueLabelRow = Selectable<QueueLabelsTable>;
export type CaseTriggerRow = Selectable<CaseTriggersTable>;
export type ConnectionRow = Selectable<ConnectionsTable>;
export type OAuthFlowRow = Selectable<OAuthFlowsTable>;
