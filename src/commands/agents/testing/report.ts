/** Results of tests for people, printed in the order of the files while the tests are executed. */
import { formatDuration } from '../../../base/duration.ts';
import { renderPatch } from '../../../terminal/diff.ts';
import { sanitizeLine } from '../../../terminal/sanitize.ts';
import type { Styles } from '../../../terminal/style.ts';
import type { TestRow } from './rows.ts';

/** Splits a line that is longer than the terminal is wide. */
export type Wrap = (line: string) => string[];

/** Spaces in front of the texts of failures. */
export const indentation = 6;

/** The lines of a test. @param previous the test above it */
export function testLines(row: TestRow, previous: TestRow | undefined, styles: Styles, wrap: Wrap): string[] {
  const heading = previous?.file === row.file ? [] : [...(previous === undefined ? [] : ['']), styles.bold(sanitizeLine(row.file))];
  const sign = row.status === 'passed' ? styles.success('✓') : styles.error('✗');
  const title = `  ${sign} ${sanitizeLine(row.name)}  ${styles.dim(shortTime(row.seconds * 1000))}`;
  return [...heading, title, ...row.failures.flatMap((failure) => failureLines(failure, styles, wrap))];
}

function failureLines({ message, diff }: TestRow['failures'][number], styles: Styles, wrap: Wrap): string[] {
  const text = message.split('\n').flatMap((line) => wrap(sanitizeLine(line)).map((part) => `${' '.repeat(indentation)}${part}`));
  if (diff === null) return text;
  const patch = renderPatch(diff, { styles }).trimEnd().split('\n');
  return [...text, ...patch.map((line) => `        ${line}`)];
}

/** How many tests had which result. */
export function summary(rows: readonly TestRow[], milliseconds: number): string {
  const count = (status: TestRow['status']): number => rows.filter((row) => row.status === status).length;
  const parts = (['passed', 'failed'] as const).map((status) => [count(status), status] as const).filter(([number]) => number > 0);
  return `${parts.map(([number, status]) => `${number} ${status}`).join(', ')} in ${shortTime(milliseconds)}`;
}

/** Tests are short, so tenths of a second matter. */
const shortTime = (milliseconds: number): string =>
  milliseconds < 60_000 ? `${(milliseconds / 1000).toFixed(1)}s` : formatDuration(milliseconds);
