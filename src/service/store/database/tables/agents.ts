/** Agents with their revisions, schedules, and memory. */
import type { Generated, Selectable } from 'kysely';
import type { Fixed, Flag } from './columns.ts';

export interface AgentsTable {
  id: Fixed<string>;
  team_id: Fixed<string>;
  name: string;
  /** In lower case by JavaScript, which supports more letters than SQLite. */
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
  /** JSON array of agent IDs. */
  handover_target_ids: string | null;
  parent_build_id: string | null;
  promoted_at: string | null;
  created_at: Fixed<string>;
  updated_at: string;
}

/** Procedure texts by their hash: a run keeps the text that it was started with, even if its revision is edited. */
export interface ProceduresTable {
  hash: Fixed<string>;
  text: Fixed<string>;
}

/** The schedules on which runs of an agent are started. */
export interface SchedulesTable {
  id: Fixed<string>;
  agent_id: Fixed<string>;
  /** The live revision at the time of its creation, or else the newest one. */
  build_id: Fixed<string>;
  /** The credential that created it. */
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
  /** 0 if it fires only once. */
  recurring: Flag | null;
  /** Milliseconds; null if it no longer fires. */
  next_at: number | null;
  last_run_at: string | null;
  last_run_id: string | null;
  last_error: string | null;
  /** How many times in a row no run could be started. */
  failures: number;
  /** How many of these times a connection was missing, when first, and when last. */
  missing_connection_failures: Generated<number>;
  first_missing_connection_at: string | null;
  last_missing_connection_at: string | null;
  auto_disabled_at: string | null;
  auto_disabled_reason: string | null;
  created_at: Fixed<string>;
  updated_at: string;
}

/** Secrets that agents get as environment variables. */
export interface AgentSecretsTable {
  agent_id: Fixed<string>;
  name: Fixed<string>;
  /** Encrypted (secret-box.ts). */
  value: string;
  updated_at: string;
}

/** Files that agents keep from run to run. */
export interface MemoryFilesTable {
  agent_id: Fixed<string>;
  path: Fixed<string>;
  content: string;
  /** Bytes. */
  size: number;
  /** 1, 2, 3 ..., incremented with every change. */
  generation: number;
  source_type: 'job' | 'user';
  source_run_id: string | null;
  source_user_id: string | null;
  created_at: Fixed<string>;
  updated_at: string;
}

export interface AgentsTables {
  agents: AgentsTable;
  builds: BuildsTable;
  procedures: ProceduresTable;
  schedules: SchedulesTable;
  memory_files: MemoryFilesTable;
  agent_secrets: AgentSecretsTable;
}

export type AgentRow = Selectable<AgentsTable>;
export type BuildRow = Selectable<BuildsTable>;
export type ScheduleRow = Selectable<SchedulesTable>;
export type MemoryFileRow = Selectable<MemoryFilesTable>;
export type AgentSecretRow = Selectable<AgentSecretsTable>;
