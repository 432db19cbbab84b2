import { AopsError, exitCodes } from '../../base/errors.ts';
import { reportToGitHub } from '../../cli/following/github-report.ts';
import { outageNotes, readBeforeWatching } from '../../cli/following/outage.ts';
import { outcomeError } from '../../cli/following/run-outcome.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { choice } from '../../cli/kit/flags.ts';
import {
  column,
  idColumn,
  listOutput,
  oneOrSeveralOutput,
  recordOutput,
  status,
  statusColumn,
  time,
  timeColumn,
  wideViewForIds,
} from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import { type ResolvedRun, resolveRuns } from '../../cli/names/resolve-run.ts';
import { type NamedRun, runForHere, runsArgument, runTitle, runWord } from '../../cli/names/run-names.ts';
import { Notifier, notifyFlags } from '../../cli/notifying/notifier.ts';
import type { Run } from '../../interface/types.ts';
import { isFinal } from '../../watch/run-status.ts';
import { watchRun } from '../../watch/watch-run.ts';
import { waitForRuns } from './many/wait-many.ts';
import { readRun } from './read.ts';
import { waitingView } from './waiting.ts';

export default defineCommand({
  summary: 'Wait until runs have ended or need an answer',
  description:
    'With --for finished (the default), the exit code is the outcome of the run; its human requests must be answered elsewhere. With --for waiting, it is 0 as soon as the run has a human request, and 6 if the run completes without one. Limit the wait with --timeout (exit 9). On a terminal, the status of the run is displayed.\n\nFor several runs, the command waits for all of them, and the exit code is the worst: 10, then 11. The JSON is then a list.',
  arguments: { run: runsArgument() },
  options: { for: choice(['finished', 'waiting'], 'What to wait for (default: finished)'), ...notifyFlags },
  operations: ['getRun', 'listRuns', 'listAgents', 'streamRunEvents', 'streamTeamEvents', 'listRunMessages'],
  exits: [exitCodes.conflict, exitCodes.runFailed, exitCodes.runInterrupted],
  examples: [
    { command: 'aops runs wait RUN --timeout 10m', text: 'Wait until a run has ended' },
    { command: 'aops runs wait RUN --notify', text: 'Ring the bell when the run has ended' },
    { command: 'aops runs wait 17 18 19', text: 'Wait until several runs have ended' },
    { command: 'aops runs wait RUN --for waiting && aops runs respond RUN --approve', text: 'Wait for an approval and grant it' },
  ],
  result: returns('getRun.run'),
  output: oneOrSeveralOutput(
    recordOutput<Run>((run) => ({
      Number: run.run_number ?? undefined,
      ID: run.id,
      Status: status(run.status),
      Completed: time(run.completed_at),
      Error: run.error ?? undefined,
    })),
    listOutput<Run>({
      columns: [
        column('RUN', runWord),
        statusColumn((run) => run.status),
        timeColumn('COMPLETED', (run) => run.completed_at),
        column('ERROR', (run) => run.error, { shrink: true }),
        idColumn((run) => run.id, { minViewWidth: wideViewForIds }),
      ],
      empty: 'There are no runs to wait for.',
    }),
  ),
  async run(context, input) {
    const client = await context.client();
    const [resolvedRun, ...otherRuns] = (await readBeforeWatching(context, (reading) => resolveRuns(reading, input.run))) as [
      ResolvedRun,
      ...ResolvedRun[],
    ];
    if (otherRuns.length > 0)
      return waitForRuns(context, [resolvedRun, ...otherRuns], input.for === 'waiting', new Notifier(context, input));
    const { id } = resolvedRun;
    const { clock, signal } = context;
    const notifier = new Notifier(context, input);
    const view = await waitingView(context, resolvedRun, input.for === 'waiting');
    try {
      for await (const event of watchRun(client, id, { clock, signal, onOutage: outageNotes(context) })) {
        await view.event(event);
        notifier.event(event);
        const isWaiting = input.for === 'waiting' && event.type === 'human_request.pending';
        if (event.type !== 'run.finished' && !isWaiting) continue;
        const run = await readRun(client, id);
        if (!isWaiting && !isFinal(run.status)) continue;
        const requestedRun = runForHere(context, run);
        const error = isWaiting
          ? undefined
          : (outcomeError(run, requestedRun) ?? (input.for === 'waiting' ? noRequestError(requestedRun) : undefined));
        if (!isWaiting) reportToGitHub(context, run, error);
        if (error) throw new ResultError(error, run);
        return run;
      }
      throw new Error('the stream of events ended before the run');
    } catch (error) {
      if (error === signal.reason) view.detach();
      throw error;
    } finally {
      view.close();
      await notifier.end();
    }
  },
});

const noRequestError = (run: NamedRun): AopsError =>
  new AopsError(`Run ${runTitle(run)} completed without a human request.`, { code: 'run_completed', exit: exitCodes.conflict });
