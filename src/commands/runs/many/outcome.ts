/** How watching several runs ends: a summary, and the worst exit code. */
import { AopsError, type ExitCode, exitCodes } from '../../../base/errors.ts';
import { pluralize } from '../../../base/pluralize.ts';
import { worstExit } from '../../../base/worst-exit.ts';
import { exitOfRun } from '../../../watch/run-status.ts';

/** The end of one run here: the status with which it ended or was left, or why it could not be watched. */
export interface RunEnd {
  label: string;
  status: string;
  /** The reason of a failed run. */
  reason?: string | undefined;
  /** Set if the run could not be read any more. */
  error?: AopsError | undefined;
}

/** The exit code of a run that has ended, waits, or was lost; 0 for one that continues without needing anybody. */
export const exitOfEnd = ({ status, error }: RunEnd): ExitCode => error?.exit ?? exitOfRun(status);

/** `3 runs: 1 completed, 2 failed`, with the statuses in the order of their first run. */
export function countsInWords(ends: readonly RunEnd[]): string {
  const counts = new Map<string, number>();
  for (const { status, error } of ends) {
    const word = error === undefined ? status : 'unreadable';
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const parts = [...counts].map(([word, count]) => `${count} ${word}`);
  return `${pluralize(ends.length, 'run')}${parts.length === 0 ? '' : `: ${parts.join(', ')}`}`;
}

/** Maximum number of runs that an error names. */
const maxNamed = 5;

/** The error for runs that did not complete, with the worst exit code; undefined if all completed. */
export function endsError(ends: readonly RunEnd[]): AopsError | undefined {
  const exit = worstExit(ends.map(exitOfEnd));
  if (exit === exitCodes.done) return undefined;
  const worst = ends.filter((end) => exitOfEnd(end) === exit);
  const named = worst.slice(0, maxNamed).map(({ label, reason, error }) => {
    const why = error?.message ?? reason;
    return `${label}${why ? ` (${why.split('\n')[0]})` : ''}`;
  });
  const more = worst.length > maxNamed ? ` and ${worst.length - maxNamed} more` : '';
  const [code, one, several, hint] = descriptions[exit] ?? [
    'runs_unreadable',
    'could not be watched',
    'could not be watched',
    worst[0]?.error?.hint,
  ];
  const predicate = worst.length === 1 ? one : several;
  return new AopsError(`${pluralize(worst.length, 'run')} ${predicate}: ${named.join(', ')}${more}.`, { code, exit, hint });
}

const descriptions: Partial<Record<ExitCode, readonly [code: string, one: string, several: string, hint: string]>> = {
  [exitCodes.runFailed]: ['runs_failed', 'failed', 'failed', 'See why with `aops runs explain RUN`.'],
  [exitCodes.runInterrupted]: [
    'runs_interrupted',
    'was interrupted',
    'were interrupted',
    'Resume a run by sending a message: `aops runs send RUN MESSAGE`.',
  ],
  [exitCodes.runWaiting]: [
    'runs_waiting',
    'is waiting for a person',
    'are waiting for a person',
    'Answer with `aops inbox` or `aops runs respond RUN`, then watch again.',
  ],
};
