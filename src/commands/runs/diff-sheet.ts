/** The differences between two runs, for people. Pure. */
import { capitalize } from '../../base/capitalize.ts';
import { formatDuration } from '../../base/duration.ts';
import { runTitle } from '../../cli/names/run-names.ts';
import type { ConfigChange } from '../../cli/records/config-changes.ts';
import type { AnswerChange, FieldChange, FileDifference, StepChange } from '../../cli/run-record/compare.ts';
import type { Step } from '../../cli/run-record/digest.ts';
import type { View } from '../../terminal/cell.ts';
import { renderDiff } from '../../terminal/diff.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import { formatSize } from '../../terminal/size.ts';
import { plainStyles } from '../../terminal/style.ts';

interface NamedRun {
  id: string;
  number: number | null;
  status: string;
}

export interface RunDifference {
  same: boolean;
  before: NamedRun;
  after: NamedRun;
  fields: FieldChange[];
  usage: FieldChange[];
  procedure: { before: string; after: string };
  config: ConfigChange[];
  /** The index of the first of the steps that differs; null if all are the same. */
  first_divergence: number | null;
  steps: StepChange[];
  answers: AnswerChange[];
  files: FileDifference[];
  gaps: string[];
}

/** Equal steps next to a difference that are shown. */
const contextSteps = 2;

/** Characters of a value, such as a message. The JSON contains all of them. */
const maxValueLength = 200;

export async function renderRunDiff(difference: RunDifference, view: View): Promise<string> {
  const { before, after, fields, usage, procedure, config, answers, files, gaps } = difference;
  const names = [before, after].map((run) => runTitle({ id: run.id, run_number: run.number })) as [string, string];
  const styles = view.styles ?? plainStyles;
  const section = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : [`${styles.bold(title)}\n${lines.map((line) => `  ${line}\n`).join('')}`];
  const procedureDiff = await renderDiff(
    { ...procedure, beforeName: `procedure of ${names[0]}`, afterName: `procedure of ${names[1]}` },
    view,
  );
  const fieldLine = ({ name, before: from, after: to }: FieldChange): string =>
    `${titleOf(name)}: ${styles.error(valueText(name, from))} -> ${styles.success(valueText(name, to))}`;
  const parts = [
    `${styles.bold(`Run ${sanitizeLine(names[0])} and run ${sanitizeLine(names[1])}`)}\n`,
    ...section('Inputs and outcome', fields.map(fieldLine)),
    ...section('Usage', usage.filter(isVisible).map(fieldLine)),
    ...section(
      'Settings of the revision',
      config.map((change) => sanitizeLine(`${change.path}: ${configText(change.before)} -> ${configText(change.after)}`)),
    ),
    ...(procedureDiff === '' ? [] : [`${styles.bold('Procedure')}\n${procedureDiff}`]),
    ...section('Steps', stepLines(difference, view)),
    ...section(
      'Answers',
      answers.map(
        ({ title, before: from, after: to }) =>
          `${sanitizeLine(title)}: ${styles.error(sanitizeLine(from ?? '(none)'))} -> ${styles.success(sanitizeLine(to ?? '(none)'))}`,
      ),
    ),
    ...section(
      'Files',
      files.map((file) => fileLine(file, styles)),
    ),
    ...section('Not compared', gaps.map(sanitizeLine)),
  ];
  return parts.join('\n');
}

/** `asks_before_acting` -> `Asks before acting` */
export const titleOf = (name: string): string => capitalize(name.replace('_milliseconds', '').replaceAll('_', ' '));

export function valueText(name: string, value: FieldChange['before']): string {
  if (value === null || value === undefined) return '(none)';
  if (name === 'duration_milliseconds' && typeof value === 'number') return formatDuration(value);
  const text = sanitizeLine(String(value));
  return text.length <= maxValueLength ? text : `${text.slice(0, maxValueLength - 1)}…`;
}

/** Whether the texts of a change differ; two durations can have the same one. */
export const isVisible = ({ name, before, after }: FieldChange): boolean => valueText(name, before) !== valueText(name, after);

const configText = (value: unknown): string => (value === undefined ? '(none)' : JSON.stringify(value));

function stepLines({ steps, first_divergence: first }: RunDifference, view: View): string[] {
  if (steps.length === 0) return [];
  const styles = view.styles ?? plainStyles;
  if (first === null) return [`All ${steps.length} steps are the same.`];
  const isNear = (index: number): boolean =>
    steps.slice(Math.max(0, index - contextSteps), index + contextSteps + 1).some(({ change }) => change !== 'same');
  const lines: string[] = [];
  let skipped = 0;
  const flush = (): void => {
    if (skipped > 0) lines.push(styles.dim(`  ${skipped} equal ${skipped === 1 ? 'step' : 'steps'}`));
    skipped = 0;
  };
  for (const [index, { change, before, after }] of steps.entries()) {
    if (!isNear(index)) {
      skipped += 1;
      continue;
    }
    flush();
    if (index === first) lines.push(styles.warning(`The runs diverge at step ${(before ?? after)?.number}.`));
    if (change === 'same') lines.push(styles.dim(`  ${stepText(before as Step)}`));
    if (change === 'outcome' || change === 'removed') lines.push(styles.error(`- ${stepText(before as Step)}`));
    if (change === 'outcome' || change === 'added') lines.push(styles.success(`+ ${stepText(after as Step)}`));
  }
  flush();
  return lines;
}

const signs: Readonly<Record<string, string>> = { done: '✓', answered: '✓', failed: '✗' };

/** `✗ exec  cat missing.txt  → no such file` */
export const stepText = ({ title, status, outcome }: Step): string =>
  sanitizeLine(`${signs[status] ?? '…'} ${title}${outcome === '' ? '' : `  → ${outcome}`}`);

function fileLine({ path, change, size_before, size_after }: FileDifference, styles: NonNullable<View['styles']>): string {
  const size = (bytes: number | null): string => (bytes === null ? 'nothing' : formatSize(bytes));
  const text = sanitizeLine(`${change}: ${path} (${size(size_before)} -> ${size(size_after)})`);
  return change === 'added' ? styles.success(text) : change === 'removed' ? styles.error(text) : text;
}
