/** Does the same for several runs: a failure concerns one run, the others continue, and the exit code is the worst. */
import { AopsError } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { Slots } from '../../base/slots.ts';
import { worstExit } from '../../base/worst-exit.ts';
import type { Context } from '../../cli/kit/context.ts';
import { type RowList, wholeList } from '../../cli/kit/list.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import { type NamedRun, runForHere, runTitle } from '../../cli/names/run-names.ts';
import { errorFields } from '../../terminal/errors.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';

/** Requests in progress at the same time. */
const parallelRuns = 8;

/** What was done for a run, or why that failed. */
export type Attempt<Run extends NamedRun, Result> = { run: Run; result: Result } | { run: Run; error: AopsError };

/**
 * Does something for each run, and returns the results in the order of the runs.
 * @throws what ends the whole command: an interruption, a time limit, a dry run, and errors that are not AopsErrors
 */
export async function forEachRun<Run extends NamedRun, Result>(
  context: Context,
  runs: readonly Run[],
  act: (run: Run) => Promise<Result>,
): Promise<Attempt<Run, Result>[]> {
  // A dry run ends with the first change.
  const slots = new Slots(context.flags.dryRun ? 1 : parallelRuns);
  return Promise.all(
    runs.map((run) =>
      slots.run(async (): Promise<Attempt<Run, Result>> => {
        context.signal.throwIfAborted();
        try {
          return { run, result: await act(run) };
        } catch (error) {
          if (!(error instanceof AopsError) || context.signal.aborted) throw error;
          return { run, error };
        }
      }),
    ),
  );
}

/**
 * The rows of a change that was made for several runs. Failures are reported on stderr as they would be for one run.
 * @param rowOf a row for a success, and one for a failure, to which `error` is added
 * @param failed the end of a sentence about the number of runs: "could not be stopped"
 * @throws ResultError with the rows if any failed
 */
export function rowsOf<Run extends NamedRun, Result, Row extends object>(
  context: Context,
  attempts: readonly Attempt<Run, Result>[],
  rowOf: (run: Run, result: Result | undefined) => Row,
  failed: string,
): RowList<Row & { error?: unknown }> {
  const rows = wholeList(
    attempts.map((attempt) =>
      'error' in attempt
        ? { ...rowOf(attempt.run, undefined), error: errorFields(attempt.error) }
        : { ...rowOf(attempt.run, attempt.result) },
    ),
  );
  const failures = attempts.flatMap((attempt) => ('error' in attempt ? [attempt] : []));
  if (failures.length === 0) return rows;
  for (const { run, error } of failures) context.terminal.warn(`Run ${runTitle(runForHere(context, run))}: ${sanitizeLine(error.message)}`);
  const exit = worstExit(failures.map(({ error }) => error.exit));
  const hint = failures.find(({ error }) => error.exit === exit)?.error.hint;
  const message = `${failures.length} of ${pluralize(attempts.length, 'run')} ${failed}.`;
  throw new ResultError(new AopsError(message, { code: 'runs_failed_partly', exit, hint }), rows);
}
