/** An explanation of a run for people. Pure. */

import { describeRequest } from '../../cli/following/requests.ts';
import { runTitle } from '../../cli/names/run-names.ts';
import type { FieldChange } from '../../cli/run-record/compare.ts';
import type { RunExplanation } from '../../cli/run-record/explain.ts';
import type { View } from '../../terminal/cell.ts';
import { renderDiff } from '../../terminal/diff.ts';
import { sanitize, sanitizeLine } from '../../terminal/sanitize.ts';
import { plainStyles, type Styles } from '../../terminal/style.ts';
import { isVisible, stepText, titleOf, valueText } from './diff-sheet.ts';

/** Lines of the difference between procedures; `aops runs diff` shows all of them. */
const maxDiffLines = 40;

export async function renderExplanation(explanation: RunExplanation, view: View): Promise<string> {
  const { run, outcome, summary, failure, current_step, pending_request, failed_rubrics, compared_with, next, gaps } = explanation;
  const styles = view.styles ?? plainStyles;
  const section = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : [`${styles.bold(title)}\n${lines.map((line) => (line === '' ? '\n' : `  ${line}\n`)).join('')}`];
  const paint = outcome === 'failed' ? styles.error : outcome === 'completed' ? styles.success : styles.warning;
  const about = [run.title, run.agent].filter((text) => text !== null && text !== '').map((text) => sanitizeLine(text as string));
  const parts = [
    `${paint(sanitizeLine(summary))}\n${about.length === 0 ? '' : `${styles.dim(about.join(' · '))}\n`}`,
    ...section('Error', failure === null ? [] : linesOf(failure.error)),
    ...section('Failed step', failure?.step ? stepLines(failure.step) : []),
    ...section('In progress when it failed', failure?.unfinished ? [stepText(failure.unfinished)] : []),
    ...section('Last tool error before it', failure?.tool_error ? toolErrorLines(failure) : []),
    ...section(
      outcome === 'active' ? 'In progress' : outcome === 'waiting' ? 'Call that waits for it' : 'Last step',
      current_step === null ? [] : [stepText(current_step)],
    ),
    ...section('Agent', agentLines(explanation.agent_program)),
    ...section('Waiting for', pending_request === null ? [] : linesOf(describeRequest(pending_request))),
    ...section(
      'Failed rubrics',
      failed_rubrics.map(({ severity, title, comment }) => sanitizeLine(`${severity}: ${title}${comment === null ? '' : ` (${comment})`}`)),
    ),
    ...(compared_with === null
      ? section(
          'Compared with the last good run',
          run.agent === null || outcome === 'completed' ? [] : ['No earlier run of the agent completed.'],
        )
      : section(
          `Compared with run ${runTitle({ id: compared_with.id, run_number: compared_with.number })}, the last one that completed before it`,
          await differenceLines(explanation, view),
        )),
    ...section('Next', commandLines(next, view)),
    ...section('Not read', gaps.map(sanitizeLine)),
  ];
  return parts.join('\n');
}

const linesOf = (text: string): string[] => sanitize(text).split('\n');

const stepLines = ({ number, kind, line, source }: NonNullable<NonNullable<RunExplanation['failure']>['step']>): string[] => [
  sanitizeLine(`Step ${number} (${kind}), line ${line} of the procedure`),
  ...(source === null ? [] : [sanitizeLine(`${line} | ${source}`)]),
];

function agentLines(agent: RunExplanation['agent_program']): string[] {
  if (agent === null) return [];
  const { name, mode, last_text: text, notices } = agent;
  const program = name === null ? 'Its program did not start.' : `Program: ${name}${mode === null ? '' : `, mode ${mode}`}`;
  return [program, ...(text === null ? [] : [`Last text: ${text}`]), ...notices.map((notice) => `Noted: ${notice}`)].map(sanitizeLine);
}

function toolErrorLines({ tool_error: error, steps_after_tool_error: later }: NonNullable<RunExplanation['failure']>): string[] {
  if (error === null) return [];
  return [stepText(error), ...(later > 0 ? [`The run continued for ${later} more ${later === 1 ? 'step' : 'steps'} after it.`] : [])];
}

async function differenceLines({ differences, divergence, procedure, config }: RunExplanation, view: View): Promise<string[]> {
  const styles = view.styles ?? plainStyles;
  const fieldLine = ({ name, before, after }: FieldChange): string =>
    `${titleOf(name)}: ${styles.error(valueText(name, before))} -> ${styles.success(valueText(name, after))}`;
  const diff = await renderDiff({ ...procedure, beforeName: 'procedure before', afterName: 'procedure now' }, view);
  const diffLines = diff.trimEnd().split('\n').slice(2);
  const omitted = diffLines.length - maxDiffLines;
  const lines = [
    ...differences.filter(isVisible).map(fieldLine),
    ...config.map((change) =>
      sanitizeLine(`${change.path}: ${JSON.stringify(change.before) ?? '(none)'} -> ${JSON.stringify(change.after) ?? '(none)'}`),
    ),
    ...(divergence === null ? [] : ['First different step:', ...divergenceLines(divergence, styles)]),
    ...(diff === '' ? [] : ['Procedure:', ...diffLines.slice(0, maxDiffLines).map((line) => `  ${line}`)]),
    ...(diff !== '' && omitted > 0 ? [styles.dim(`  … ${omitted} more lines`)] : []),
  ];
  return lines.length === 0 ? ['The service recorded no differences.'] : lines;
}

const divergenceLines = ({ before, after }: NonNullable<RunExplanation['divergence']>, styles: Styles): string[] => [
  styles.error(`  - ${before === null ? '(nothing)' : stepText(before)}`),
  styles.success(`  + ${after === null ? '(nothing)' : stepText(after)}`),
];

/** Commands with what they are for, in two columns if they fit. Commands are for pasting, so they are not cut. */
function commandLines(next: RunExplanation['next'], { styles = plainStyles, tty, width }: View): string[] {
  const commandWidth = Math.max(0, ...next.map(({ command }) => command.length));
  const textWidth = Math.max(0, ...next.map(({ text }) => text.length));
  const fits = !tty || commandWidth + textWidth + 5 <= width;
  return next.map(({ command, text }) => {
    const gap = fits ? ' '.repeat(commandWidth - command.length + 3) : '\n      ';
    return `${styles.accent(sanitizeLine(command))}${gap}${styles.dim(text)}`;
  });
}
