import { exitCodes } from '../../base/errors.ts';
import { type FollowOptions, followFlags, followOptions } from '../../cli/following/responder.ts';
import { closePositions } from '../../cli/following/resumption.ts';
import { forPeople } from '../../cli/kit/audience.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { returns } from '../../cli/kit/result.ts';
import { anyRunsArgument, runForHere } from '../../cli/names/run-names.ts';
import { Notifier, notifyFlags } from '../../cli/notifying/notifier.ts';
import { showBoard } from './board/board.ts';
import { announce, failedAfter, printsRun, readEvents, resultOf } from './follow.ts';
import { followRuns } from './many/follow-many.ts';
import { openManyReading } from './many/reading.ts';
import { selectingOptions, selectionFlags, selectRuns } from './many/selection.ts';
import { noMatchError, openReading, type ReadingInput, readingFlags } from './reading.ts';

export default defineCommand({
  summary: 'Watch runs and answer their human requests',
  description:
    'Streams the messages of a run until it ends. Human requests are prompted for below the transcript; without a terminal, --answers and --on-request decide. Ctrl-C detaches; the run continues. The exit code is the outcome of the run, even if it ended earlier.\n\nSeveral runs, and those that --agent, --queue, --status, or --all select, are watched together: on a terminal on a live board (press ? for its keys), elsewhere as lines with the name of the run in front, or as NDJSON. With filters, runs that start later are added until Ctrl-C; --no-new ends when all current runs have ended. A run that waits for a person does not hold up the others. The exit code is the worst of all runs: 10, then 11, then 12.',
  arguments: { run: anyRunsArgument({ unless: selectingOptions }) },
  options: { ...selectionFlags, ...followFlags, ...readingFlags, ...notifyFlags },
  operations: [
    'getRun',
    'listRuns',
    'listAgents',
    'listQueues',
    'streamRunEvents',
    'streamRunsEvents',
    'streamTeamEvents',
    'listRunMessages',
    'getRunDetail',
    'respondToHumanRequest',
    'stopRun',
  ],
  exits: [exitCodes.conflict, exitCodes.runFailed, exitCodes.runInterrupted, exitCodes.runWaiting],
  examples: [
    { command: 'aops runs watch @latest', text: 'Watch the newest run and answer its requests' },
    { command: 'aops runs watch RUN --on-request wait --timeout 1h', text: 'Watch a run while someone else answers' },
    { command: 'aops runs watch 17 18 19', text: 'Watch several runs' },
    { command: 'aops runs watch --agent invoice-check --status waiting', text: 'Watch what waits for a person' },
    { command: 'aops runs watch --queue invoices --no-new --answers answers.yaml', text: 'Watch the runs of a queue until they end' },
    { command: 'aops runs watch RUN --notify', text: 'Be notified when the run needs an answer or ends' },
    { command: 'aops runs watch RUN -o ndjson', text: 'Print every event as one JSON object per line' },
    {
      command: 'aops runs watch RUN -o ndjson --resume @events.ndjson >> events.ndjson',
      text: 'Add the events that are not in a file yet',
    },
    { command: "aops runs watch RUN --tail 10 --until 'Deployed * to production'", text: 'Wait for a message' },
  ],
  result: returns('getRun.run'),
  // For several runs.
  otherResults: [returns('listRuns.data[]')],
  async run(context, input) {
    const options = await followOptions(context, input, 'run_id');
    const selection = await selectRuns(context, input);
    if ('kind' in selection) {
      if (showsBoard(context, input, options)) return showBoard(context, selection, new Notifier(context, input));
      const reading = await openManyReading(context, selection, input);
      return followRuns(context, selection, options, reading, new Notifier(context, input)).finally(() =>
        closePositions(context, reading.positions),
      );
    }
    const resolvedRun = selection;
    const reading = await openReading(context, resolvedRun.id, input);
    if (resolvedRun.listItem) announce(context, resolvedRun);
    try {
      const { run, isMatched } = await readEvents(context, resolvedRun, options, reading, new Notifier(context, input));
      if (isMatched) return printsRun(context) ? run : undefined;
      const result = resultOf(context, run);
      if (reading.until.length > 0) throw failedAfter(context, run, noMatchError(runForHere(context, run)));
      return result;
    } finally {
      reading.positions?.close();
    }
  },
});

/** Whether several runs are shown on a board: on a terminal, unless an option determines what is printed or what happens to requests. */
const showsBoard = (context: Context, { resume, tail, since, until }: ReadingInput, { onRequest, answers }: FollowOptions): boolean =>
  context.terminal.interactive &&
  context.terminal.out.isTTY &&
  forPeople(context) &&
  onRequest === 'prompt' &&
  answers === undefined &&
  resume === undefined &&
  tail === undefined &&
  since === undefined &&
  until.length === 0;
