/** How an evaluation is displayed: a summary, followed by the result of every rubric. */

import { column, recordFields, status, withStyle } from '../../cli/kit/output.ts';
import type { View } from '../../terminal/cell.ts';

export const severities = ['critical', 'medium', 'low'] as const;
export type SeverityWord = (typeof severities)[number];

export interface RubricResult {
  kind: 'rubric' | 'platform';
  key: string;
  title: string;
  severity: SeverityWord;
  status: 'passed' | 'failed' | 'undecided';
  comment: string | null;
}

/** The summary from the interface, with the result of each rubric if the service reports it. */
export interface Evaluation {
  status: 'ready' | 'unavailable' | 'in_progress';
  passed: number;
  total: number;
  final_comment?: string;
  severityCounts?: Record<SeverityWord, number>;
  results?: RubricResult[];
}

/** `1 critical, 2 low`; undefined for none. */
export function issuesInWords(counts: Partial<Record<SeverityWord, number>> | undefined): string | undefined {
  const parts = severities.flatMap((word) => ((counts?.[word] ?? 0) > 0 ? [`${counts?.[word]} ${word}`] : []));
  return parts.length === 0 ? undefined : parts.join(', ');
}

export async function evaluationSheet(evaluation: Evaluation, view: View): Promise<string> {
  const [{ renderSheet }, { renderTable }] = [await import('../../terminal/sheet.ts'), await import('../../terminal/table.ts')];
  const { results = [], final_comment: comment } = evaluation;
  const sum = recordFields({
    Status: status(evaluation.status),
    Passed: `${evaluation.passed} of ${evaluation.total}`,
    Issues: issuesInWords(evaluation.severityCounts) ?? 'none',
    // Without results for the rubrics, the comment is the only explanation.
    Comment: results.length === 0 && comment ? withStyle(comment, undefined) : undefined,
  });
  const head = await renderSheet([{ title: 'Evaluation', fields: sum }], view);
  if (results.length === 0) return head;
  const columns = [
    column('RESULT', (result: RubricResult) => result.status, { style: 'status' }),
    column('SEVERITY', (result: RubricResult) => result.severity),
    column('RUBRIC', (result: RubricResult) => result.title, { shrink: true, min: 16 }),
    column('WHY', (result: RubricResult) => result.comment, { shrink: true, min: 16 }),
  ];
  return `${head}${view.tty ? '\n' : ''}${await renderTable(results, columns, view)}`;
}
