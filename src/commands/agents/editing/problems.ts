/** Problems of a procedure with the lines that they are about. Pure. */
import { pluralize } from '../../../base/pluralize.ts';
import { shorten } from '../../../base/values.ts';

/** As the service reports it; lines and columns are counted from 1. */
export interface ReportedProblem {
  message: string;
  line?: number;
  column?: number;
}

/** The number of problems that are shown with their lines. */
const maxProblems = 10;
/** Maximum length of the part of a line that is shown, in characters. */
const maxLineLength = 100;

export function describeProblems(problems: readonly ReportedProblem[], text: string): string {
  const lines = text.split('\n');
  const descriptions = problems.slice(0, maxProblems).flatMap((problem) => describe(problem, lines));
  const omitted = problems.length > maxProblems ? [`  and ${problems.length - maxProblems} more`] : [];
  return [`The text has ${pluralize(problems.length, 'error')}:`, ...descriptions, ...omitted].join('\n');
}

function describe({ message, line, column }: ReportedProblem, lines: readonly string[]): string[] {
  if (line === undefined) return [`  ${message}`];
  const place = column === undefined ? `line ${line}` : `line ${line}, column ${column}`;
  const source = lines[line - 1];
  if (source === undefined) return [`  ${place}: ${message}`];
  const margin = `    ${line} | `;
  const pointer = column === undefined || column > maxLineLength ? [] : [`${' '.repeat(margin.length + column - 1)}^`];
  return [`  ${place}: ${message}`, margin + shorten(source, maxLineLength), ...pointer];
}
