/** Queues and cases. */
import type { Generated, Selectable } from 'kysely';
import type { CaseStatus } from '../../../../interface/types.ts';
import type { Fixed, Flag } from './columns.ts';

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
 * Work for agents. A pending case is claimed by a run, postponed, or waiting. A completed case keeps the run that completed it.
 */
export interface CasesTable {
  id: Fixed<string>;
  queue_id: Fixed<string>;
  /** Increases within the queue, and determines the order of cases of the same moment. */
  number: Fixed<number>;
  title: Fixed<string>;
  data: Fixed<string>;
  /** Title and data, in lower case by JavaScript. */
  search_text: Fixed<string>;
  status: CaseStatus;
  /** Position in casePriorities. */
  priority: number;
  /** The only agent that may take it; null for all agents of the queue. */
  delegated_agent_id: string | null;
  claimed_at: string | null;
  claimed_by_run_id: string | null;
  completed_at: string | null;
  postponed_to: string | null;
  /** Its rank among the waiting cases (`lineRanks`). Derived from `postponed_to` by the store. */
  line_rank: Generated<number>;
  created_at: Fixed<string>;
  updated_at: string;
}

/** The history of a case, in order. */
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
  /** Empty for a label without a key. */
  key: string;
  value: string;
  color_hue: number;
  created_at: Fixed<string>;
}

export interface CaseLabelsTable {
  case_id: Fixed<string>;
  label_id: Fixed<string>;
}

/** Makes an agent work on the cases of a queue. An agent has at most one. */
export interface CaseTriggersTable {
  id: Fixed<string>;
  agent_id: Fixed<string>;
  queue_id: string;
  /** The credential that created it. */
  credential_id: Fixed<string>;
  enabled: Flag;
  /** How many cases at a time; null for the limit of the plan. */
  concurrency: number | null;
  created_at: Fixed<string>;
  updated_at: string;
}

export interface CasesTables {
  queues: QueuesTable;
  cases: CasesTable;
  case_events: CaseEventsTable;
  queue_labels: QueueLabelsTable;
  case_labels: CaseLabelsTable;
  case_triggers: CaseTriggersTable;
}

export type QueueRow = Selectable<QueuesTable>;
export type CaseRow = Selectable<CasesTable>;
export type CaseEventRow = Selectable<CaseEventsTable>;
export type QueueLabelRow = Selectable<QueueLabelsTable>;
export type CaseTriggerRow = Selectable<CaseTriggersTable>;
