/** Results of tests as data: the rows that programs read. */
import { unifiedDiff } from '../../../base/unified-diff.ts';
import type { PlannedTest, TestResult } from './run-test.ts';
import type { Failure } from './verdict.ts';

export interface FailureRow {
  expectation: Failure['expectation'];
  message: string;
  path: string | null;
  /** A unified diff. */
  diff: string | null;
}

export interface TestRow {
  /** The file and the line of the test. */
  id: string;
  status: 'passed' | 'failed' | 'skipped';
  name: string;
  file: string;
  line: number;
  seconds: number;
  /** Of the run; null if there was none. */
  run_status: string | null;
  run_error: string | null;
  requests: string[];
  failures: FailureRow[];
}

/** Replaces secrets, which an agent can write into its messages and files. */
export type Redact = (text: string) => string;

export function rowOf({ planned, milliseconds, observation, failures }: TestResult, redact: Redact): TestRow {
  return {
    ...emptyRow(planned),
    status: failures.length === 0 ? 'passed' : 'failed',
    seconds: Math.round(milliseconds) / 1000,
    run_status: observation?.status ?? null,
    run_error: observation?.error == null ? null : redact(observation.error),
    requests: (observation?.requests ?? []).map(redact),
    failures: failures.map((failure) => failureRow(failure, redact)),
  };
}

/** The row of a test that was not executed to its end. */
export const skippedRow = (planned: PlannedTest): TestRow => emptyRow(planned);

const emptyRow = ({ file, line, test }: PlannedTest): TestRow => ({
  id: `${file.name}:${line}`,
  status: 'skipped',
  name: test.name,
  file: file.name,
  line,
  seconds: 0,
  run_status: null,
  run_error: null,
  requests: [],
  failures: [],
});

function failureRow({ expectation, message, path, comparison }: Failure, redact: Redact): FailureRow {
  const diff =
    comparison === undefined ? null : unifiedDiff({ ...comparison, beforeName: 'expected', afterName: path ?? 'actual' }).join('\n');
  return { expectation, message: redact(message), path: path ?? null, diff: diff === null ? null : redact(diff) };
}
