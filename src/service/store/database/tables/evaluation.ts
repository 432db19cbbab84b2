/** Rubrics, and the evaluations of runs. */
import type { Selectable } from 'kysely';
import type { Fixed } from './columns.ts';

/** The criteria for evaluating runs of an agent. */
export interface RubricsTable {
  id: Fixed<string>;
  agent_id: Fixed<string>;
  /** The revision to which it applies; empty for all. */
  build_id: Fixed<string>;
  slug: Fixed<string>;
  title: string;
  description: string;
  sort_order: number;
  created_at: Fixed<string>;
  updated_at: string;
  deleted_at: string | null;
}

/** The evaluation of a run that has ended. */
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
  /** JSON array of the result of each rubric. */
  results: string;
  created_at: Fixed<string>;
  updated_at: string;
}

export type EvaluationStatus = 'ready' | 'unavailable' | 'in_progress';

export interface EvaluationTables {
  rubrics: RubricsTable;
  evaluations: EvaluationsTable;
}

export type RubricRow = Selectable<RubricsTable>;
export type EvaluationRow = Selectable<EvaluationsTable>;
