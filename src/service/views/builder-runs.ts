/** Builder runs, as the interface returns them. */
import type { BuilderRun, BuilderRunProgress, ReviewedBuilderRun } from '../../interface/types.ts';
import { fromJson } from '../store/database/json-column.ts';
import type { BuilderRunRow } from '../store/database/schema.ts';

type Open = Record<string, unknown>;

const commonFields = (row: BuilderRunRow) => ({
  id: row.id,
  build_id: row.build_id,
  status: row.status,
  started_at: row.started_at,
  completed_at: row.completed_at,
});

/** There is no checkpoint before the first answer. */
const checkpoint = (row: BuilderRunRow): Open | null => (row.answers === '{}' ? null : { answers: JSON.parse(row.answers) as Open });

export const builderRunView = (row: BuilderRunRow): BuilderRun => ({
  ...commonFields(row),
  assignment_id: row.agent_id,
  prompt: row.prompt,
  mode: row.mode,
  checkpoint_config: checkpoint(row),
  pending_user_questions: fromJson<Open>(row.questions),
  schedule_suggested: row.schedule_suggested === 1,
  phase: row.phase,
  setup_changes: fromJson<Open[]>(row.setup_changes) ?? [],
  error: row.error,
  created_at: row.created_at,
  resolution: row.resolution,
  changes: fromJson<string[]>(row.changes) ?? [],
  base_config: fromJson<Open>(row.base_config),
  proposed_config: fromJson<Open>(row.proposed_config),
});

/** The result of a review. When a proposal is accepted, anything that has yet to be set up is reported as a warning. */
export const reviewedView = (row: BuilderRunRow): ReviewedBuilderRun => ({
  ...commonFields(row),
  checkpoint_config: checkpoint(row),
  pending_user_questions: fromJson<Open>(row.questions),
  schedule_suggested: row.schedule_suggested === 1,
  warnings:
    row.resolution === 'accepted' ? (fromJson<Open[]>(row.setup_changes) ?? []).filter(({ satisfied }) => satisfied !== true) : null,
  resolution: row.resolution,
});

export const progressView = (row: BuilderRunRow): BuilderRunProgress => ({ ...commonFields(row), phase: row.phase, error: row.error });
