/** Judges a run by rubrics, and returns the result of each rubric and the totals. */
import type { EvaluationStatus, RubricRow } from '../store/database/schema.ts';
import type { Facts } from './facts.ts';
import { judge, judgeCheck, type Verdict } from './judge.ts';
import { readDemand, type Severity, severities } from './language.ts';
import { platformRubrics } from './platform.ts';

/** The result of one rubric, as it is stored and shown. */
export interface RubricResult {
  kind: 'rubric' | 'platform';
  /** The slug of an agent's rubric, or the key of a platform rubric. */
  key: string;
  title: string;
  description: string;
  severity: Severity;
  status: Verdict['status'];
  comment: string | null;
}

export interface Evaluation {
  status: Exclude<EvaluationStatus, 'in_progress'>;
  /** The number of rubrics that passed, and of rubrics that could be decided. */
  passed: number;
  total: number;
  /** The number of failed rubrics by severity. */
  counts: Record<Severity, number>;
  comment: string | null;
  results: RubricResult[];
}

/** Judges a run by the rubrics of its agent and those of the platform. */
export async function evaluate(rubrics: readonly RubricRow[], facts: Facts): Promise<Evaluation> {
  const results: RubricResult[] = [];
  for (const { slug, title, description } of rubrics) {
    const demand = readDemand(description);
    results.push(result({ kind: 'rubric', key: slug, title, description, severity: demand.severity }, await judge(demand, facts)));
  }
  for (const { key, label: title, description, severity, check } of platformRubrics) {
    results.push(result({ kind: 'platform', key, title, description, severity }, await judgeCheck(check, facts)));
  }
  const rubricResults = results.filter(({ kind }) => kind === 'rubric');
  const decidedResults = results.filter(({ status }) => status !== 'undecided');
  const failedResults = decidedResults.filter(({ status }) => status === 'failed');
  return {
    // If none of the agent's rubrics could be decided, the platform rubrics do not replace them.
    status: rubricResults.length > 0 && rubricResults.every(({ status }) => status === 'undecided') ? 'unavailable' : 'ready',
    passed: decidedResults.length - failedResults.length,
    total: decidedResults.length,
    counts: Object.fromEntries(
      severities.map((word) => [word, failedResults.filter(({ severity }) => severity === word).length]),
    ) as Record<Severity, number>,
    comment: commentOf(results),
    results,
  };
}

const result = (rubric: Omit<RubricResult, 'status' | 'comment'>, verdict: Verdict): RubricResult => ({
  ...rubric,
  status: verdict.status,
  comment: verdict.status === 'passed' ? null : verdict.comment,
});

function commentOf(results: readonly RubricResult[]): string | null {
  const lines = (['failed', 'undecided'] as const).flatMap((status) =>
    results
      .filter((rubric) => rubric.status === status)
      .map(({ title, comment }) => `${status === 'failed' ? 'Failed' : 'Not decided'}: ${title} (${comment}).`),
  );
  return lines.length === 0 ? null : lines.join('\n');
}
