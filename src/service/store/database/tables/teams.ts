/** Teams, their plans, and the settings of the service. */
import type { Generated, Selectable } from 'kysely';
import type { Fixed } from './columns.ts';

export interface SettingsTable {
  name: Fixed<string>;
  value: string;
}

export interface TeamsTable {
  id: Fixed<string>;
  name: string;
  created_at: Fixed<string>;
  deleted_at: string | null;
  /** The highest number of a removed run, which is not used again. */
  last_removed_run: Generated<number>;
  /** The number of its latest request event, which is not used again. */
  last_request_event: Generated<number>;
  /** Milliseconds after which a pending human request is followed by a reminder; null for no reminders. */
  remind_after: number | null;
}

/** The plan of a team; a team without a row has the default plan (store/access/plan.ts). */
export interface PlansTable {
  team_id: Fixed<string>;
  name: string;
  /** Limits; null means unlimited. */
  agent_runs: number | null;
  assignments: number | null;
  clarity_interviews: number | null;
  max_concurrent_runs: number;
  run_counting_mode: string;
  /** JSON arrays of words; null for the defaults of the service. */
  features: string | null;
  products: string | null;
  updated_at: string;
}

export interface TeamsTables {
  settings: SettingsTable;
  teams: TeamsTable;
  plans: PlansTable;
}

export type TeamRow = Selectable<TeamsTable>;
export type PlanRow = Selectable<PlansTable>;
