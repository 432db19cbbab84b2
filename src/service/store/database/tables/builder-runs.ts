/** Builder runs. */
import type { Selectable } from 'kysely';
import type { BuilderRunStatus } from '../../../../interface/types.ts';
import type { Fixed, Flag } from './columns.ts';

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
  /** JSON of the initial RevisionConfig, and of the proposed one. */
  base_config: Fixed<string | null>;
  proposed_config: string | null;
  /** JSON of the pending HumanRequest. */
  questions: string | null;
  /** JSON object: question text to answer. */
  answers: string;
  /** JSON arrays of sentences, and of SetupChange objects. */
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

export interface BuilderRunsTables {
  builder_runs: BuilderRunsTable;
}

export type BuilderRunRow = Selectable<BuilderRunsTable>;
