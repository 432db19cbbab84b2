/** Teams, their plans, and what the service itself remembers. */
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
  /** The highest number of a run that was removed; it is not given again. */
  last_removed_run: Generated<number>;
  /** The number of the latest of its request events; it is not given again. */
  last_request_event: Generated<number>;
}

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

export interface TeamsTables {
  settings: SettingsTable;
  teams: TeamsTable;
  plans: PlansTable;
}

export type TeamRow = Selectable<TeamsTable>;
export type PlanRow = Selectable<PlansTable>;
