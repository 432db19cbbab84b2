/**
 * What GitHub Actions shows of a run: an annotation unless it completed, and a section in the summary of the job. Both are optional, so a
 * failure changes neither the output nor the exit code.
 */
import { appendFileSync } from 'node:fs';
import { formatDuration } from '../../base/duration.ts';
import type { AopsError } from '../../base/errors.ts';
import { shorten } from '../../base/values.ts';
import type { HumanRequest, Run } from '../../interface/types.ts';
import { isGitHubActions } from '../../terminal/workflow-commands.ts';
import type { Context } from '../kit/context.ts';
import { runTitle } from '../names/run-names.ts';

/** A run as far as the report needs it. */
type ReportedRun = Pick<Run, 'id' | 'run_number' | 'status'> &
  Partial<Pick<Run, 'error' | 'started_at' | 'completed_at'>> & { pending_human_request?: HumanRequest | null };

/** Reports how a run ended, or that it waits. `error` is what the command ends with; undefined if the run completed. */
export function reportToGitHub(context: Context, run: ReportedRun, error: AopsError | undefined): void {
  if (!reportsToGitHub(context)) return;
  const { env, terminal } = context;
  const title = titleOf(run);
  const hint = error?.hint === undefined ? undefined : terminal.suggested(error.hint);
  if (error)
    terminal.annotate(run.status === 'waiting' ? 'warning' : 'error', title, shorten(`${error.message}\n${hint ?? ''}`.trim(), maxLength));
  const file = env.GITHUB_STEP_SUMMARY;
  if (!file) return;
  try {
    appendFileSync(file, summaryOf(run, hint));
  } catch (failure) {
    terminal.warn(`The summary of the job cannot be written: ${(failure as Error).message}`);
  }
}

export const reportsToGitHub = ({ env }: Context): boolean => isGitHubActions(env) && !isOff(env.AOPS_GITHUB);

const isOff = (value: string | undefined): boolean => /^(off|false|no|0)$/i.test(value?.trim() ?? '');

const endings: Readonly<Record<string, string>> = {
  completed: 'completed',
  failed: 'failed',
  interrupted: 'was interrupted',
  waiting: 'is waiting for a person',
};

const titleOf = (run: ReportedRun): string => `Run ${runTitle(run)} ${endings[run.status] ?? run.status}`;

const signs: Readonly<Record<string, string>> = { completed: ':white_check_mark:', waiting: ':hourglass:' };

/** The section of the summary, in Markdown. @param hint what to do if it has not completed */
function summaryOf(run: ReportedRun, hint: string | undefined): string {
  const { started_at, completed_at } = run;
  const rows = {
    ID: run.id,
    Duration: started_at && completed_at ? formatDuration(Date.parse(completed_at) - Date.parse(started_at)) : undefined,
    Request: run.pending_human_request?.title,
    Error: run.error ?? undefined,
    'What to do': hint,
  };
  const lines = Object.entries(rows).flatMap(([name, value]) => (value ? [`| ${name} | ${asText(shorten(value, maxLength))} |`] : []));
  return `### ${signs[run.status] ?? ':x:'} ${asText(titleOf(run))}\n\n| | |\n| --- | --- |\n${lines.join('\n')}\n\n`;
}

/** Maximum length of a text in the report, in characters. */
const maxLength = 2_000;

/** Text that Markdown and HTML leave unchanged: every sign is a character reference, and lines are separated by breaks. */
const asText = (text: string): string =>
  text
    .replace(/[\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e]/g, (sign) => `&#${sign.charCodeAt(0)};`)
    .replace(/\r?\n/g, '<br>')
    .replace(/\p{Cc}/gu, ' ');
