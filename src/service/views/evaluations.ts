/** Evaluations of runs, as the interface returns them. */
import type { EvaluationSummary } from '../../interface/types.ts';
import type { RubricResult } from '../evaluation/evaluate.ts';
import type { EvaluationRow } from '../store/database/schema.ts';

type Figures = Pick<EvaluationRow, 'passed' | 'total' | 'status' | 'comment' | 'critical' | 'medium' | 'low'>;

/** The summary of an evaluation. */
export const summaryView = ({ passed, total, status, comment, critical, medium, low }: Figures): EvaluationSummary => ({
  passed,
  total,
  status,
  ...(comment === null ? {} : { final_comment: comment }),
  severityCounts: { critical, medium, low },
});

/** The same, or null for a run that has not ended yet. */
export const evaluationView = (row: Figures | undefined): EvaluationSummary | null => (row === undefined ? null : summaryView(row));

/** The same with the result of each rubric, for the detail of a run; an empty object for a run that has not ended yet. */
export const evaluationDetail = (row: EvaluationRow | undefined): Record<string, unknown> =>
  row === undefined ? {} : { ...evaluationView(row), results: JSON.parse(row.results) as RubricResult[] };
