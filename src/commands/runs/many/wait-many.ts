/** Waits for several runs: until all of them have ended, or until each of them needs an answer or has ended. */
import { AopsError, type ExitCode, exitCodes } from '../../../base/errors.ts';
import { pluralize } from '../../../base/pluralize.ts';
import { outageNotes } from '../../../cli/following/outage.ts';
import { waitingTime } from '../../../cli/following/waiting-time.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { type RowList, wholeList } from '../../../cli/kit/list.ts';
import { ResultError } from '../../../cli/kit/result-error.ts';
import { type NamedRun, runForHere, runWord } from '../../../cli/names/run-names.ts';
import type { Notifier } from '../../../cli/notifying/notifier.ts';
import type { Run } from '../../../interface/types.ts';
import { statusLine } from '../../../terminal/progress.ts';
import { sanitizeLine } from '../../../terminal/sanitize.ts';
import { EventSequence } from '../../../watch/envelope.ts';
import type { RunEvent } from '../../../watch/events.ts';
import type { RunUpdate } from '../../../watch/many/run-updates.ts';
import { RunsWatch } from '../../../watch/many/watch-runs.ts';
import type { WatchedRun } from '../../../watch/many/watched-run.ts';
import { endsOf, RunLabels } from './labels.ts';
import { countsInWords, endsError, type RunEnd } from './outcome.ts';

/**
 * @param untilWaiting whether a human request ends the wait for its run
 * @throws ResultError with the worst exit code; the signal's reason on Ctrl-C or --timeout
 */
export async function waitForRuns(
  context: Context,
  runs: readonly NamedRun[],
  untilWaiting: boolean,
  notifier: Notifier,
): Promise<RowList<Run>> {
  const { clock, signal, terminal } = context;
  const client = await context.client();
  const watch = new RunsWatch(
    client,
    { kind: 'named', runs },
    { clock, signal, teamId: context.teamId(), messages: false, onOutage: outageNotes(context) },
  );
  const labels = new RunLabels(context);
  const errors = new Map<WatchedRun, AopsError>();
  const sequence = new EventSequence(clock);
  const isDone = (run: WatchedRun): boolean => run.isReportedOver || (untilWaiting && run.state.request !== null);
  const watched = (): WatchedRun[] => [...watch.runs.values()];
  const line = await statusLine(terminal);
  const observe = async ({ run, body }: RunUpdate): Promise<void> => {
    if (body.type === 'run.lost') {
      errors.set(run, body.error);
      return;
    }
    notifier.event(sequence.next<RunEvent>(body, { run_id: run.id }));
    if (line === undefined || body.type !== 'human_request.reminder') return;
    const { human_request: request } = body.data;
    terminal.note(`Reminder: ${await labels.label(run)} has been ${waitingTime(request, clock.now())}: ${sanitizeLine(request.title)}`);
  };
  line?.start(() => `Waiting for ${pluralize(watched().filter((run) => !isDone(run)).length, 'run')} of ${watched().length}`);
  try {
    for await (const update of watch.updates()) {
      if (update.run !== undefined) await observe(update);
      line?.refresh();
      if (watched().every(isDone)) break;
    }
  } catch (error) {
    line?.stop();
    if (error === signal.reason) {
      const names = watched().map((run) => runWord(runForHere(context, { id: run.id, run_number: run.number })));
      terminal.advise(`Stopped waiting. The runs continue. Come back with: aops runs wait ${names.join(' ')}`);
    }
    throw error;
  } finally {
    line?.stop();
    await notifier.end();
  }
  const rows = wholeList(
    watched().flatMap(({ run, state }) => (run === undefined ? [] : [{ ...run, status: state.status ?? run.status } as Run])),
  );
  const ends = await endsOf(watched(), labels, errors);
  terminal.note(countsInWords(ends));
  const error = untilWaiting ? waitingError(ends) : endsError(ends);
  if (error !== undefined) throw new ResultError(error, rows);
  return rows;
}

/** With --for waiting, a run that waits is what was wanted, and one that completed is not. */
function waitingError(ends: readonly RunEnd[]): AopsError | undefined {
  const outcome = endsError(ends.filter(({ status, error }) => error !== undefined || status !== 'waiting'));
  if (outcome !== undefined) return outcome;
  const completed = ends.filter(({ status }) => status === 'completed');
  if (completed.length === 0) return undefined;
  const exit: ExitCode = exitCodes.conflict;
  const names = completed.map(({ label }) => label).join(', ');
  return new AopsError(`${pluralize(completed.length, 'run')} completed without a human request: ${names}.`, {
    code: 'runs_completed',
    exit,
  });
}
