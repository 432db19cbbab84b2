/** Runs, and everything that belongs to them. */
import type { Generated, Selectable } from 'kysely';
import type { RunStatus } from '../../../../interface/types.ts';
import type { Copied, Fixed, Flag } from './columns.ts';

export interface SandboxesTable {
  id: Fixed<string>;
  team_id: Fixed<string>;
  created_at: Fixed<string>;
  /** When it is removed if no run uses it; null as soon as one does. */
  expires_at: string | null;
  removed_at: string | null;
  /** The node that works, or has last worked, with its files; null where there is only one. */
  holder: Generated<string | null>;
  /** How often the record of its files has changed. Where there is only one node: 1 as soon as files may have been written. */
  version: Generated<number>;
}

/** The record of the files in a sandbox, where there are several nodes (service/sandbox/record). */
export interface WorkspaceFilesTable {
  sandbox_id: Fixed<string>;
  /** Relative to the folder of the sandbox: `workspace/a/b`. */
  path: Fixed<string>;
  /** The path of the folder that contains it. */
  folder: Fixed<string>;
  type: Fixed<'file' | 'folder' | 'link'>;
  mode: Fixed<number>;
  /** Milliseconds since the epoch. */
  modified_at: Fixed<number>;
  /** Bytes; 0 for what is not a file. */
  size: Fixed<number>;
  /** Null for what is not a file. */
  sha256: Fixed<string | null>;
  is_text: Fixed<Flag>;
  /** Where its bytes are: the key of a stored file, and the position of the first one in it. Null without bytes. */
  file_key: Fixed<string | null>;
  position: Fixed<number>;
  /** Of a link. */
  target: Fixed<string | null>;
  /** That of the sandbox when this row was written. */
  version: Fixed<number>;
}

/** The repository in a sandbox (src/service/repositories). */
export interface SandboxRepositoriesTable {
  sandbox_id: Fixed<string>;
  team_id: Fixed<string>;
  kind: Fixed<'path' | 'url'>;
  /** A folder of this machine, or a URL. */
  source: Fixed<string>;
  ref: Fixed<string | null>;
  /** The commit from which the run started; null until it is known. */
  commit_id: string | null;
  /** The branch of the source that contains the commit. */
  base_branch: string | null;
  /** The branch in the workspace. */
  branch: Fixed<string>;
  /** Files of the source with uncommitted work when the run was started. */
  uncommitted_files: Fixed<number>;
  /** When it was checked out; null if that has to be done, also because the sandbox was removed meanwhile. */
  ready_at: string | null;
  created_at: Fixed<string>;
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
  /** 1 for a new run; a message to a completed run begins the next turn. */
  turn: number;
  submitted_prompt_count: number;
  /** Number of the last message that was sent while the turn was in progress; null once its runtime has read it. */
  unread_message: number | null;
  resume_count: number;
  error: string | null;
  webhook_url: Fixed<string | null>;
  /** The weakest level at which it has started programs (sandbox/launch.ts); null if it has not started any. */
  exec_level: 'contained' | 'host' | null;
  /** The case that it was started for, which may have been deleted. */
  case_id: Fixed<string | null>;
  created_at: Fixed<string>;
  updated_at: string;
  started_at: string | null;
  completed_at: string | null;
  /** The issues of its evaluation, copied by a trigger (migrations/0038-run-issues.ts). They are only for lists. */
  issues: Copied<number>;
  critical_issues: Copied<number>;
  medium_issues: Copied<number>;
  low_issues: Copied<number>;
}

type CopiedIssues = 'issues' | 'critical_issues' | 'medium_issues' | 'low_issues';

/** Removed runs: their number by month (the start of the billing period in which they were started) and final status. */
export interface RemovedRunsTable {
  team_id: Fixed<string>;
  period: Fixed<string>;
  status: Fixed<RunStatus>;
  runs: number;
}

/** The number of runs by agent, status, and source (store/runs/run-totals.ts). */
export interface RunTotalsTable {
  team_id: Fixed<string>;
  agent_id: Fixed<string>;
  status: Fixed<RunStatus>;
  source: Fixed<string>;
  runs: number;
}

/** The index of titles and IDs (store/runs/run-search.ts). Its texts cannot be read. */
export interface RunSearchTable {
  /** The row of the run. */
  rowid: Fixed<number>;
}

/** The session of a run's agent, for runtimes that start one. */
export interface AgentSessionsTable {
  run_id: Fixed<string>;
  /** Name and version, as the agent reports them. */
  name: string;
  version: string;
  mode: string | null;
  /** 1 if it asks a person before it acts in that mode; null if it does not say. */
  asks: Flag | null;
  /** The agent's own ID of the session. */
  session_id: string;
  prompted_messages: number;
  /** JSON of the AgentUsage. */
  usage: string | null;
  updated_at: string;
}

export interface MessagesTable {
  run_id: Fixed<string>;
  /** 1, 2, 3 ... without gaps. */
  seq: Fixed<number>;
  id: Fixed<string>;
  turn: Fixed<number>;
  /** The event ID from the runtime, or the ID of the human request that a message of a person answered; null for other messages of people. */
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
  /** Journal key of the step with the request. */
  step: Fixed<string>;
  type: Fixed<'approval' | 'question'>;
  title: Fixed<string>;
  description: Fixed<string | null>;
  questions: Fixed<string | null>;
  status: 'pending' | 'answered' | 'withdrawn';
  /** JSON of the HumanAnswer. */
  answer: string | null;
  response: string | null;
  /** ID of the credential that answered it; null for requests that were answered before this was recorded. */
  responder_id: Generated<string | null>;
  responded_at: string | null;
  /** When the next reminder is due, in milliseconds since the epoch; null if none is planned. */
  remind_at: number | null;
  /** The number of reminders so far, and when the last one was recorded. */
  reminders: Generated<number>;
  reminded_at: string | null;
  created_at: Fixed<string>;
}

/** Each time a human request was created or settled (store/runs/request-events.ts). */
export interface RequestEventsTable {
  team_id: Fixed<string>;
  /** 1, 2, 3 ... within the team. */
  number: Fixed<number>;
  run_id: Fixed<string>;
  request_id: Fixed<string>;
  change: Fixed<'asked' | 'settled' | 'reminded'>;
}

/** Files that a run has recorded; their contents are in the data directory. */
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

/** Tool calls with screenshots. */
export interface ToolExecutionsTable {
  id: Fixed<string>;
  run_id: Fixed<string>;
  turn: Fixed<number>;
  event_id: Fixed<string>;
  /** 1, 2, 3 ... within the run. */
  seq: Fixed<number>;
  tool_name: Fixed<string>;
  action: Fixed<string | null>;
  /** JSON of its input, with `url` and `title` of the page. */
  input: Fixed<string | null>;
  error: Fixed<string | null>;
  started_at: Fixed<string>;
  ended_at: Fixed<string>;
  before_file_id: Fixed<string | null>;
  after_file_id: Fixed<string | null>;
}

export interface RunsTables {
  sandboxes: SandboxesTable;
  workspace_files: WorkspaceFilesTable;
  sandbox_repositories: SandboxRepositoriesTable;
  runs: RunsTable;
  removed_runs: RemovedRunsTable;
  run_totals: RunTotalsTable;
  run_search: RunSearchTable;
  messages: MessagesTable;
  journal: JournalTable;
  human_requests: HumanRequestsTable;
  request_events: RequestEventsTable;
  run_files: RunFilesTable;
  tool_executions: ToolExecutionsTable;
  agent_sessions: AgentSessionsTable;
}

export type SandboxRow = Selectable<SandboxesTable>;
export type WorkspaceFileRow = Selectable<WorkspaceFilesTable>;
export type SandboxRepositoryRow = Selectable<SandboxRepositoriesTable>;
export type RunRow = Omit<Selectable<RunsTable>, CopiedIssues>;
export type MessageRow = Selectable<MessagesTable>;
export type NewMessage = Omit<MessageRow, 'seq'>;
export type HumanRequestRow = Selectable<HumanRequestsTable>;
export type RunFileRow = Selectable<RunFilesTable>;
export type ToolExecutionRow = Selectable<ToolExecutionsTable>;
